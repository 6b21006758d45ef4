/**
 * The limit of DESIGN §10: a plain proxy that per call does two durable appends, one Ed25519 signature and
 * one Cedar decision, and nothing else. Appends of many calls share a sync, as the journal's do.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Pool } from 'undici'
import { createCedarEngine } from '../../dist/adapters/cedar/evaluate/engine.js'

const LINE = Buffer.alloc(1750, 'x')

/** Resolves when the line is durable; whatever comes during one sync goes together in the next. */
async function appender(path) {
  const file = await open(path, 'a')
  let waiting = []
  let busy = false
  const flush = async () => {
    busy = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await file.write(Buffer.concat(batch.map(() => LINE)))
      await file.datasync()
      for (const done of batch) done()
    }
    busy = false
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (!busy) void flush()
    })
}

async function bodyOf(req) {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function startLimit({ origin, dir, set, rules }) {
  const append = await appender(join(dir, 'log'))
  const engine = createCedarEngine({ set, rules })
  const { privateKey } = generateKeyPairSync('ed25519')
  const pool = new Pool(origin, { connections: 256, pipelining: 1 })
  const decide = (args) =>
    engine.decide({
      principal: 'bot',
      roles: [],
      developer: 'bot/1',
      action: 'pay',
      resource: 'pay',
      irreversibility: 'one_way_consequential',
      args,
      approval: { granted: false },
    }).kind
  return createServer(async (req, res) => {
    const body = await bodyOf(req)
    const kind = decide(JSON.parse(body.toString('utf8')))
    if (kind !== 'permit') return res.writeHead(403).end(kind)
    await append()
    const answer = await pool.request({
      method: req.method,
      path: req.url,
      headers: { 'content-type': req.headers['content-type'] ?? '' },
      body,
    })
    const bytes = Buffer.from(await answer.body.arrayBuffer())
    sign(null, LINE, privateKey)
    await append()
    res.writeHead(answer.statusCode, answer.headers).end(bytes)
  })
}
