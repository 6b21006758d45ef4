import type { ToolDraft } from './draft.js'

const CLOSED = { query: [], body: [] }

/** One tool that reads and one that writes: something to rename. */
export const STARTER: readonly ToolDraft[] = [
  {
    name: 'get_item',
    match: { method: 'GET', path: '/v1/items/{id}' },
    irreversibility: 'two_way',
    args: { id: { type: 'string', optional: false, from: { path: 'id' } } },
    also: CLOSED,
    constraints: {},
    tests: [],
  },
  {
    name: 'create_item',
    match: { method: 'POST', path: '/v1/items' },
    irreversibility: 'one_way_consequential',
    args: {
      name: { type: 'string', optional: false, from: { body: '/name' } },
      price: { type: 'decimal', optional: false, from: { body: '/price' } },
    },
    also: CLOSED,
    constraints: {
      price_cap: { price: { gt: '0', lte: '100.00' } },
      short_name: { name: { length: { max: 80 } } },
    },
    tests: [
      { args: { name: 'lamp', price: '100.00' }, expect: 'pass' },
      { args: { name: 'lamp', price: '100.01' }, expect: 'blocked' },
    ],
  },
]
