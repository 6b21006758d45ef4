import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Browser, chromium, type Page } from 'playwright-core'
import { chromiumPath, missingChromium } from '../../support/chromium.js'
import { needs } from '../../support/needs.js'
import { type Asked, HOSTILE, startAsked } from './asked.js'
import { detail } from './harness.js'

const executablePath = chromiumPath()

needs(missingChromium()).describe('requests of agents that declare, in Chromium', () => {
  let browser: Browser
  let at: Asked
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: executablePath ?? '',
      args: ['--no-sandbox', '--disable-gpu'],
    })
    at = await startAsked()
  }, 60_000)
  afterAll(async () => {
    await browser.close()
    await at.close()
  })

  /** The page of one request, as somebody on a phone or at a desk sees it. */
  async function look(id: string, width = 900): Promise<{ page: Page; complaints: string[] }> {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width, height: 800 },
    })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('dialog', (dialog) => complaints.push(dialog.message()))
    await page.goto(`${at.plane.url}/approvals/${id}`)
    await page.getByLabel('Your approver token').fill(at.plane.tokens.approver)
    await page.getByRole('button', { name: 'Sign in' }).click()
    return { page, complaints }
  }
  async function keep(page: Page, name: string): Promise<void> {
    const { SCREENSHOTS: folder } = process.env
    if (folder !== undefined)
      await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  }
  const ofGoal = {
    declared_goal: {
      goal_id: '5f0c1b2a-7d3e-4c6b-8a9d-0e1f2a3b4c5d',
      description: `${HOSTILE} ${'x'.repeat(300)}`,
    },
  }

  it.each([360, 900])(
    'fit a screen of %d, and run nothing of what an agent wrote',
    async (width) => {
      const asked = {
        demanded: await at.demanded(ofGoal),
        unlifted: await at.unlifted(ofGoal),
        gap: await at.gap(ofGoal),
        missions: await at.tooManyMissions(),
      }
      for (const [name, id] of Object.entries(asked)) {
        const { page, complaints } = await look(id, width)
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
        expect(await page.locator('img').count()).toBe(0)
        expect(await page.getByRole('heading', { name: 'What the agent says' }).count()).toBe(1)
        expect(complaints).toEqual([])
        await keep(page, `${name}-${width}`)
        await page.context().close()
      }
    },
  )

  it('let a stopped session go on when that is ticked, and end another', async () => {
    const first = await at.gap()
    const { page } = await look(first)
    await page.getByRole('button', { name: 'Let the session go on' }).click()
    expect(await detail(at.plane, first)).toMatchObject({ state: 'pending' })
    await page.getByLabel(/I have read why it was stopped/).check()
    await page.getByRole('button', { name: 'Let the session go on' }).click()
    await page.getByRole('status').filter({ hasText: 'The session goes on' }).waitFor()
    expect(await detail(at.plane, first)).toMatchObject({ state: 'closed', verdict: 'resolved' })
    await page.context().close()

    const second = await at.gap()
    const other = await look(second)
    await other.page.getByLabel('Why? (needed)').fill('it did something else')
    await other.page.getByRole('button', { name: 'End the session' }).click()
    await other.page.getByRole('status').filter({ hasText: 'The session was ended' }).waitFor()
    await other.page.getByRole('link', { name: 'All requests' }).click()
    await keep(other.page, 'inbox')
    expect(await other.page.getByText('Stopped session of "support-bot"').count()).toBeGreaterThan(
      1,
    )
    await other.page.context().close()
  })
})
