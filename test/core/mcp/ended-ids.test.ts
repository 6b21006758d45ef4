import { expect, it } from '@jest/globals'
import { createEndedIds } from '../../../src/core/mcp/ended-ids.js'

it('tells a second answer from one that nobody asked for', () => {
  const ended = createEndedIds()
  ended.add('n1', 'answered')
  expect(ended.judge('n1')).toBe('answered_twice')
  expect(ended.judge('n2')).toBe('answered_unasked')
})

it('lets one answer come late to a request that was given up, and no second', () => {
  const ended = createEndedIds()
  ended.add('n1', 'given_up')
  expect(ended.judge('n1')).toBeNull()
  expect(ended.judge('n1')).toBe('answered_twice')
})

it('remembers the newest few thousand only', () => {
  const ended = createEndedIds()
  for (let id = 0; id < 5000; id++) ended.add(`n${id}`, 'answered')
  expect(ended.judge('n0')).toBe('answered_unasked')
  expect(ended.judge('n904')).toBe('answered_twice')
  expect(ended.judge('n903')).toBe('answered_unasked')
})
