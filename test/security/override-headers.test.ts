import { afterEach, describe, expect, it } from '@jest/globals'
import type { NextFunction, Request, Response } from 'express'
import { isForwardable, OVERRIDE_HEADERS } from '../../src/core/manifest/route/headers.js'
import { type Express, post, type Stand, startApp, VERSIONS } from '../mounts/express/harness.js'
import { ask } from '../mounts/proxy/harness.js'

/** A judged POST stays a POST for the handlers, whatever header says that it is something else. */
let stand: Stand
afterEach(() => stand.close())

const SPELLINGS = OVERRIDE_HEADERS.flatMap((name) => [name, name.toUpperCase()])

describe.each(VERSIONS)('%s', (_, made) => {
  const express = made as Express

  it.each(SPELLINGS)('%s does not reach the handlers', async (name) => {
    /** What the method-override package and its kin do, from each place where a header can be read. */
    const override = (req: Request, _res: Response, next: NextFunction): void => {
      const raw = req.rawHeaders.findIndex((field) => field.toLowerCase() === name.toLowerCase())
      const found =
        req.headers[name.toLowerCase()] ??
        req.headersDistinct[name.toLowerCase()]?.[0] ??
        req.get(name) ??
        (raw === -1 ? undefined : req.rawHeaders[raw + 1])
      if (typeof found === 'string') req.method = found
      next()
    }
    stand = await startApp((guarded) => {
      const app = express().use(guarded).use(override)
      app.delete('/run', (_req, res) => res.json({ ran: 'delete' }))
      app.post('/run', (req, res) => res.json({ ran: 'post', kept: req.get('x-kept') }))
      return app
    })
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/run', '', `${name}: DELETE\r\nx-kept: yes\r\n`)),
    )
    expect(JSON.parse(result.body.toString())).toEqual({ ran: 'post', kept: 'yes' })
    expect(capsules[0]?.disposition.verdict_class).toBe('executed')
  })
})

it('none of them can be listed for an upstream either', async () => {
  expect(OVERRIDE_HEADERS.filter(isForwardable)).toEqual([])
})
