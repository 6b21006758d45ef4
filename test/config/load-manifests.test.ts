import { describe, expect, it } from '@jest/globals'
import { unknownUpstreams } from '../../src/config/load-manifests.js'
import { manifestOf } from '../support/manifests.js'

const lost = (text: string) =>
  unknownUpstreams({ upstreams: {} }, [{ manifest: manifestOf(text), digest: '' }]).map(
    ({ message }) => message,
  )

describe('the upstream of a manifest', () => {
  it('must be there for calls over HTTP and by name', () => {
    expect(lost('id: com.acme.x\ntools: {t: {match: GET /t}}')).toEqual([
      'there is no upstream default',
    ])
    expect(lost('id: com.acme.x\nupstream: api\ntools: {t: {}}')).toEqual([
      'there is no upstream api',
    ])
  })

  it('need not be there where all tools are of MCP servers', () => {
    expect(
      lost('id: com.acme.x\nserver: files\ntools: {t: {}, u: {match: {prompt: "*"}}}'),
    ).toEqual([])
    expect(
      lost('id: com.acme.x\ntools: {t: {match: {server: a, tool: t}}, u: {match: GET /u}}'),
    ).toHaveLength(1)
  })
})
