import { createGraphiQLFetcher } from '@graphiql/toolkit'

const endpoint = new URL('/graphql', window.location.href)

function socketUrl(): string {
  const url = new URL(endpoint)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}

/** Queries and mutations by POST, subscriptions over `graphql-transport-ws`. */
export const fetcher = createGraphiQLFetcher({
  url: endpoint.href,
  subscriptionUrl: socketUrl(),
  enableIncrementalDelivery: false,
})
