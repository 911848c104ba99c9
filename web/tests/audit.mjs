// Prints what every audit of the GraphQL over HTTP specification says of the server at the given address.
import { auditServer } from 'graphql-http'

const results = await auditServer({ url: process.argv[2], fetchFn: fetch })
console.log(JSON.stringify(results.map(({ id, name, status, reason }) => ({ id, name, status, reason }))))
