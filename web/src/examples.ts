const documents = import.meta.glob<string>('./examples/*.graphql', { query: '?raw', import: 'default', eager: true })

/** The examples, in the order of their file names. */
export const examples = Object.keys(documents)
  .sort()
  .map((path) => ({ query: documents[path] ?? null }))
