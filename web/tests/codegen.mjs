// Writes a typed client module for the example queries, from a schema's SDL.
import { codegen } from '@graphql-codegen/core'
import * as operations from '@graphql-codegen/typescript-operations'
import * as documentNodes from '@graphql-codegen/typed-document-node'
import * as types from '@graphql-codegen/typescript'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { parse } from 'graphql'

const examples = new URL('../src/examples/', import.meta.url)
const [sdl, target] = process.argv.slice(2)
const scalars = { BigInt: 'number', DateTime: 'string', Decimal: 'string', JSON: 'unknown', Sha256: 'string' }
const config = { strictScalars: true, scalars, useTypeImports: true, enumsAsTypes: true }

const source = await codegen({
  filename: target,
  schema: parse(readFileSync(sdl, 'utf8')),
  documents: readdirSync(examples).map((name) => ({
    location: name,
    document: parse(readFileSync(new URL(name, examples), 'utf8')),
  })),
  config,
  plugins: [{ types: {} }, { operations: {} }, { documentNodes: {} }],
  pluginMap: { types, operations, documentNodes },
})
writeFileSync(target, source)
console.log(JSON.stringify(source.match(/\w+Document\b(?= =)/g)))
