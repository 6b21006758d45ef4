import * as fs from 'node:fs'
import * as promises from 'node:fs/promises'
import { describe, expect, it } from '@jest/globals'
import * as files from '../../../src/adapters/disk/files.js'
import { door } from '../../support/power-loss/door.js'

describe('the access to files', () => {
  it("has nothing but node:fs's own functions", () => {
    const own = new Set<unknown>([...Object.values(fs), ...Object.values(promises)])
    const foreign = Object.entries(files).filter(([, value]) => !own.has(value))
    expect(foreign.map(([name]) => name)).toEqual([])
  })

  it('has the names that the disk of the power-loss suites has, and no others', () => {
    expect(Object.keys(files).sort()).toEqual(Object.keys(door).sort())
  })
})
