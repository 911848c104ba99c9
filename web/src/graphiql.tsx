import 'graphiql/setup-workers/vite'
import 'graphiql/style.css'
import './graphiql.css'

import { GraphiQL } from 'graphiql'
import { createRoot } from 'react-dom/client'

import { examples } from './examples'
import { fetcher } from './fetcher'
import icon from './icon.svg'

function Page() {
  return (
    <GraphiQL fetcher={fetcher} defaultTabs={examples} defaultEditorToolsVisibility={false}>
      <GraphiQL.Logo>
        <span className="brand">
          <img src={icon} alt="" />
          Assay
        </span>
      </GraphiQL.Logo>
    </GraphiQL>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<Page />)
