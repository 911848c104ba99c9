// Compiled against the generated module: what a typed client reads of an answer, and what the compiler refuses.
import type { ResultOf, VariablesOf } from '@graphql-typed-document-node/core'

import type { AgentsDocument, DefectStatus, NodeDocument } from './generated'

type Agent = ResultOf<typeof AgentsDocument>['agents']['nodes'][number]

export const variables: VariablesOf<typeof NodeDocument> = { id: 'QWdlbnQ6MQ==' }

export function open(agent: Agent): DefectStatus[] {
  return agent.defects.nodes.map((defect) => defect.status)
}

export function rate(agent: Agent): string {
  // @ts-expect-error A count is no text.
  return agent.defects.totalCount
}

export function secret(agent: Agent): unknown {
  // @ts-expect-error The query does not select it.
  return agent.manifestUrl
}
