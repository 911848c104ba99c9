// Watches the overview of one server with graphql-ws, and has another one change it; prints what was told.
import { createClient } from 'graphql-ws'

const [host, otherHost, secret, change] = process.argv.slice(2)
const authorization = `Bearer ${secret}`

const client = createClient({ url: `ws://${host}/graphql`, connectionParams: { authorization } })
const changes = client.iterate({ query: 'subscription { overviewChanges { agents { totalCount } } }' })

const told = []
for await (const { data, errors } of changes) {
  if (errors) throw new Error(JSON.stringify(errors))
  told.push(data.overviewChanges)
  if (data.overviewChanges.agents.totalCount > 0) break
  if (told.length === 1) {
    const headers = { authorization, 'content-type': 'application/json' }
    await fetch(`http://${otherHost}/graphql`, { method: 'POST', headers, body: change })
  }
}
await client.dispose()
console.log(JSON.stringify(told))
