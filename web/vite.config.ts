import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  base: '/static/',
  plugins: [react()],
  // GraphiQL's language services run in module workers.
  worker: { format: 'es' },
  build: {
    outDir: '../server/static',
    emptyOutDir: true,
    target: 'es2023',
    // The editor is one large chunk by nature, loaded once and cached for good.
    chunkSizeWarningLimit: 6000,
    reportCompressedSize: false,
    rolldownOptions: {
      input: 'graphiql.html',
      // Hints for the React compiler, spent once the packages were published.
      checks: { moduleLevelDirective: false },
    },
  },
  server: {
    proxy: { '/graphql': { target: 'http://127.0.0.1:8000', ws: true } },
  },
})
