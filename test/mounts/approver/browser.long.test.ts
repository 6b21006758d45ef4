import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { chromiumPath, missingChromium } from '../../support/chromium.js'
import { PAYMENTS } from '../../support/manifests.js'
import { needs } from '../../support/needs.js'
import { detail, type Plane, startPlane, tokenFor, waiting } from './harness.js'

const executablePath = chromiumPath()

needs(missingChromium()).describe('the approver pages in Chromium', () => {
  let browser: Browser
  let plane: Plane
  let context: BrowserContext
  let page: Page
  /** What the browser complained about: policy violations, errors. */
  let complaints: string[]
  let foreign: string[]
  let order = 0
  const next = (amount?: string) => waiting(plane, `o-${++order}`, amount)

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: executablePath ?? '',
      args: ['--no-sandbox', '--disable-gpu'],
    })
    plane = await startPlane()
  }, 60_000)
  afterAll(async () => {
    await browser.close()
    await plane.close()
  })
  beforeEach(async () => {
    context = await browser.newContext({ javaScriptEnabled: false })
    page = await context.newPage()
    watch(page)
  })
  afterEach(async () => {
    await context.close()
    expect(complaints).toEqual([])
    expect(foreign).toEqual([])
  })

  function watch(of: Page): void {
    complaints = []
    foreign = []
    of.on('console', (message) => complaints.push(message.text()))
    of.on('pageerror', (error) => complaints.push(String(error)))
    of.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(plane.url) && !url.startsWith('data:')) foreign.push(url)
    })
  }

  async function signIn(id?: string, token = plane.tokens.approver): Promise<void> {
    await page.goto(`${plane.url}/approvals${id === undefined ? '' : `/${id}`}`)
    await page.getByLabel('Your approver token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  it('signs in on the way to a request, decides it, and signs out', async () => {
    const item = await next()
    await signIn(item.approval_id)
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'create_refund, asked by "support-bot"',
    )
    await page.getByLabel('Why not? (needed)').fill('not this order')
    await page.getByRole('button', { name: 'Refuse' }).click()
    expect(await page.getByRole('status').textContent()).toBe('Refused')
    expect(await detail(plane, item.approval_id)).toMatchObject({
      state: 'closed',
      verdict: 'resolved',
    })
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.getByLabel('Your approver token').count()).toBe(1)
    expect(await context.cookies()).toEqual([])
    await page.goBack()
    await page.reload()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Approvals')
    complaints = complaints.filter((text) => !text.includes('401'))
  })

  it('approves with the keyboard alone, refusing first and approving last in the order of tabs', async () => {
    const item = await next()
    await page.goto(`${plane.url}/approvals/${item.approval_id}`)
    await page.keyboard.press('Tab')
    await page.keyboard.type(plane.tokens.approver)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/${item.approval_id}`)
    const focused = () => page.locator(':focus')
    expect(await focused().count()).toBe(0)
    const visited: string[] = []
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press('Tab')
      if ((await focused().count()) === 0) continue
      const label = await labelOf(focused())
      visited.push(label)
      if (label === 'confirm') await page.keyboard.press('Space')
      if (label === 'Approve') break
    }
    const order = ['Refuse', 'Decide later', 'confirm', 'Approve'].map((label) =>
      visited.indexOf(label),
    )
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(order).not.toContain(-1)
    await page.keyboard.press('Enter')
    // The answer is a redirect to the address the page has already: only its words tell them apart.
    await page.getByRole('status').filter({ hasText: 'Approved' }).waitFor()
    expect((await plane.refund('250.00', {}, `o-${orderOf()}`)).kind).toBe('executed')
  })
  const orderOf = (): number => order
  const labelOf = async (at: ReturnType<Page['locator']>): Promise<string> =>
    (await at.getAttribute('name')) ?? (await at.textContent()) ?? ''

  it('does not send an approval that is not ticked, and refuses one sent anyway', async () => {
    const item = await next()
    await signIn(item.approval_id)
    await page.getByRole('button', { name: 'Approve' }).click()
    expect(await detail(plane, item.approval_id)).toMatchObject({ state: 'pending', votes: 0 })
    const sent = await posted(page, 'approve', { confirm: '' })
    expect([sent.status(), (await sent.text()).includes('Tick that you have read')]).toEqual([
      400,
      true,
    ])
    expect(await detail(plane, item.approval_id)).toMatchObject({ state: 'pending', votes: 0 })
  })

  /** The form's own fields, sent by the same browser without its checks. */
  async function posted(of: Page, decision: string, fields: Record<string, string>) {
    const form = of.locator(`.${decision} form`)
    const inputs = await form.locator('input[type=hidden]').all()
    const own: Record<string, string> = {}
    for (const input of inputs) {
      own[(await input.getAttribute('name')) ?? ''] = (await input.getAttribute('value')) ?? ''
    }
    const action = (await form.getAttribute('action')) ?? ''
    return context.request.post(`${plane.url}${action}`, {
      form: { ...own, ...fields },
      maxRedirects: 0,
    })
  }

  it('postpones, keeps the request open, and shows until when', async () => {
    const item = await next()
    await signIn(item.approval_id)
    await page.getByLabel('Keep it open for').selectOption('4 hours')
    await page.getByRole('button', { name: 'Decide later' }).click()
    expect(await page.getByRole('status').textContent()).toBe('Postponed')
    const clock = page.frameLocator('iframe[title="Time left"]')
    expect(await clock.locator('p').textContent()).toMatch(/^3 h 59 min left$/)
    expect(await page.locator('main').textContent()).toMatch(
      /Decide before [\d-]+ [\d:]+ UTC\. Otherwise nothing is sent and the request ends as expired\./,
    )
  })

  it('keeps what was typed when a decision does not go through', async () => {
    const item = await next()
    await signIn(item.approval_id)
    await page.getByLabel('Why not? (needed)').fill('a long thought')
    await plane.gate.halt({ kind: 'tool', name: 'create_refund' }, 'test')
    await page.getByRole('button', { name: 'Refuse' }).click()
    expect(await page.getByRole('alert').textContent()).toContain('Halted')
    await plane.gate.resume({ kind: 'tool', name: 'create_refund' }, 'test')
    complaints = complaints.filter((text) => !text.includes('409'))
    expect((await detail(plane, item.approval_id)).state).toBe('pending')
  })

  it('shows markup, hidden and reordering characters as text, and nothing runs', async () => {
    const scripts = await browser.newContext()
    try {
      const loud = await scripts.newPage()
      watch(loud)
      let alarms = 0
      loud.on('dialog', (dialog) => {
        alarms += 1
        void dialog.dismiss()
      })
      const evil =
        '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202eoof\u200b\u0007{{7*7}}</textarea>&lt;b&gt;\u2066x\u2069 \u05d0\u05d1 100 200'
      const item = await waiting(plane, evil)
      await loud.goto(`${plane.url}/approvals/${item.approval_id}`)
      await loud.getByLabel('Your approver token').fill(plane.tokens.approver)
      await loud.getByRole('button', { name: 'Sign in' }).click()
      const shown = (await loud.locator('.quote').allTextContents()).join('\n')
      expect(shown).toContain(
        '"\\"><script>alert(1)</script><img src=x onerror=alert(2)>\\u{202E}oof\\u{200B}\\u{7}{{7*7}}</textarea>&lt;b&gt;\\u{2066}x\\u{2069} ',
      )
      expect(shown).toContain('may be shown in another order; sent as')
      expect(await loud.locator('script, img').count()).toBe(0)
      expect(await loud.locator('body').textContent()).not.toMatch(
        /[\u202a-\u202e\u2066-\u2069\u200b\u0007]/,
      )
      expect(alarms).toBe(0)
    } finally {
      await scripts.close()
    }
  })

  it('keeps the cookie from other ports of the same host, which browsers otherwise share', async () => {
    const heard: (string | undefined)[] = []
    const spy: Server = createServer((request, response) => {
      heard.push(request.headers.cookie)
      response.setHeader('content-type', 'text/html')
      // Without an icon of its own the page would ask for one, perhaps after the server has gone.
      response.end('<link rel="icon" href="data:,"><p>agent page</p>')
    })
    await new Promise<void>((resolve) => spy.listen(0, '127.0.0.1', resolve))
    const { port } = spy.address() as AddressInfo
    try {
      const item = await next()
      await signIn(item.approval_id)
      const [cookie] = await context.cookies(page.url())
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
      expect(cookie?.path).toMatch(/^\/approvals\/in\/[\w-]{43}$/)
      for (const path of ['/', '/approvals', `/approvals/in/`, `/approvals/${item.approval_id}`]) {
        await page.goto(`http://127.0.0.1:${port}${path}`)
      }
      expect(heard.filter((value) => value !== undefined)).toEqual([])
      foreign = []
    } finally {
      spy.closeAllConnections()
      spy.close()
    }
  })

  it('refuses a decision posted from a page on another port, with every field right', async () => {
    const item = await next()
    await signIn(item.approval_id)
    const form = page.locator('.deny form')
    const action = `${plane.url}${await form.getAttribute('action')}`
    const hidden = await form
      .locator('input[type=hidden]')
      .evaluateAll((all) => all.map((one) => one.outerHTML))
    const spy = createServer((_, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(
        `<form method="post" action="${action}">${hidden.join('')}<input name="reason" value="x"><button>Go</button></form>`,
      )
    })
    await new Promise<void>((resolve) => spy.listen(0, '127.0.0.1', resolve))
    try {
      await page.goto(`http://127.0.0.1:${(spy.address() as AddressInfo).port}/`)
      foreign = []
      await page.getByRole('button', { name: 'Go' }).click()
      expect(await page.getByRole('alert').textContent()).toMatch(
        /not sent from this page|signed out/,
      )
      complaints = complaints.filter((text) => !/40[13]/.test(text))
      expect((await detail(plane, item.approval_id)).state).toBe('pending')
    } finally {
      spy.closeAllConnections()
      spy.close()
    }
  })

  it('turns agents, operators and machines away with one sentence', async () => {
    const machine = tokenFor(plane, 'page-robot', { machine: true })
    for (const token of [plane.tokens.agent, plane.tokens.operator, machine, 'garbage']) {
      await signIn(undefined, token)
      expect(await page.getByRole('alert').textContent()).toBe(
        'This token does not open this page.',
      )
    }
    expect(await context.cookies()).toEqual([])
    complaints = complaints.filter((text) => !text.includes('401'))
  })

  it('lists what waits, the most pressing first, and decides nothing there', async () => {
    const [a, b] = [await next(), await next()]
    await signIn()
    const links = await page
      .locator('.item a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''))
    const at = (id: string): number => links.findIndex((href) => href.endsWith(id))
    expect(at(a.approval_id)).toBeGreaterThanOrEqual(0)
    expect(at(a.approval_id)).toBeLessThan(at(b.approval_id))
    expect(await page.locator('main button, main form').count()).toBe(0)
  })

  it('asks two people where two are needed, and says so to the first', async () => {
    const two = await startPlane({ manifest: `${PAYMENTS}    hitl: {quorum: 2}\n` })
    // Before the plane first looks at its tokens: a later one counts within a second, not at once.
    const second = tokenFor(two, 'second')
    try {
      const item = await waiting(two)
      const go = async (token: string): Promise<string> => {
        const own = await browser.newContext({ javaScriptEnabled: false })
        const at = await own.newPage()
        await at.goto(`${two.url}/approvals/${item.approval_id}`)
        await at.getByLabel('Your approver token').fill(token)
        await at.getByRole('button', { name: 'Sign in' }).click()
        await at.getByLabel(/^I have read/).check()
        await at.getByRole('button', { name: 'Approve' }).click()
        const said = `${await at.getByRole('status').textContent()} ${await at.locator('.note').last().textContent()}`
        await own.close()
        return said
      }
      expect(await go(two.tokens.approver)).toBe(
        'Waiting: 1 of 2 approved You have approved; others are asked as well.',
      )
      expect(await go(second)).toContain('Approved; waiting for the call')
    } finally {
      await two.close()
    }
  })

  it('fits a phone: nothing wider than the screen, targets a thumb can hit, light and dark', async () => {
    const item = await waiting(plane, `o-${'x'.repeat(300)}`)
    for (const colorScheme of ['light', 'dark'] as const) {
      const phone = await browser.newContext({
        viewport: { width: 360, height: 740 },
        isMobile: true,
        hasTouch: true,
        colorScheme,
      })
      const at = await phone.newPage()
      await at.goto(`${plane.url}/approvals/${item.approval_id}`)
      await at.getByLabel('Your approver token').fill(plane.tokens.approver)
      await at.getByRole('button', { name: 'Sign in' }).tap()
      await at.waitForURL(/\/approvals\/in\//)
      const width = await at.evaluate('document.documentElement.scrollWidth')
      expect(width).toBe(360)
      for (const button of await at.locator('.decide button').all()) {
        expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44)
      }
      const labels = await at
        .locator('textarea, select, input[type=checkbox]')
        .evaluateAll((all) =>
          all.map((one) => (one as { labels?: { length: number } }).labels?.length ?? 0),
        )
      expect(labels.every((count) => count === 1)).toBe(true)
      if (process.env.SCREENSHOTS !== undefined) {
        await at.screenshot({
          path: `${process.env.SCREENSHOTS}/${colorScheme}.png`,
          fullPage: true,
        })
      }
      await phone.close()
    }
  })
})
