// Every page: light and dark, phone width, keyboard only, empty states.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { api, closeBrowser, keys, open } from './browser.mjs'

after(closeBrowser)

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const session = (await api('sessions')).items.find((one) => one.name === 'Rosa').id
const [run] = (await api(`sessions/${session}`)).runs
const { id: workflow } = await api('workflows', {
  definition: { name: 'terrace', agent: 'enzo', step: [{ id: 'place', ask: 'How large a table?', options: ['small', 'large'] }] },
  input: {},
})
const pages = [
  '/', `/inbox/${session}`, '/approvals', '/layers', '/threads', '/knowledge', '/notices', '/problems', '/credits',
  '/agents', '/agents/enzo', '/agents/enzo/soul', '/agents/enzo/tools', '/agents/enzo/prompt', '/agents/enzo/try',
  '/set-up', '/set-up/channels', '/set-up/settings', '/set-up/sharing', '/set-up/keys', '/set-up/audit', '/layers/souls', '/runtime',
  '/runtime/teams', '/runtime/queues', '/runtime/work', '/runtime/plans', '/workflows', `/workflows/${workflow}`, `/runs/${run.id}`,
]

test('u13 pages have no serious accessibility findings in light and dark, and fit a phone', async () => {
  for (const path of pages) {
    const page = await open(`/#${path}`)
    await page.getByRole('status').getByText('Live').waitFor()
    await page.locator('main h1, main h2').first().waitFor()
    await page.evaluate(axe)
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme })
      const { violations } = await page.evaluate(() => globalThis.axe.run())
      const serious = violations.filter((one) => ['serious', 'critical'].includes(one.impact))
      const found = serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`)
      assert.deepEqual(found, [], `${path} ${colorScheme}`)
    }
    await page.setViewportSize({ width: 390, height: 800 })
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(overflow <= 0, `${path} is ${overflow} px too wide`)
    assert.deepEqual(page.problems, [], path)
    await page.context().close()
  }
})

test('u13 the first page has at most 400 KB, compressed', async () => {
  const page = await open('about:blank')
  const files = []
  page.on('response', (response) => files.push(response.body()))
  await page.goto(process.env.OSTLER_PAGE_URL ?? process.env.OSTLER_URL)
  await page.getByRole('status').getByText('Live').waitFor()
  await page.getByText('credits spent today').waitFor()
  // The event stream has no end.
  const bodies = await Promise.all(files.map((body) => Promise.race([body.catch(() => ''), new Promise((resolve) => setTimeout(resolve, 1_000, ''))])))
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0)
  assert.ok(bytes > 50_000 && bytes < 400_000, `${bytes} bytes`)
  await page.context().close()
})

test('u13 an organization in which nothing has happened says what to do, on every page', async () => {
  const advice = {
    '/inbox': 'They appear as soon as a customer writes',
    '/approvals': 'Agents ask before they do what they may not do alone',
    '/workflows': 'Start one with',
    '/runtime/teams': 'The members of a team get the same question',
    '/runtime/work': 'What agents ask of a person',
    '/runtime/plans': 'Agents that need approval',
    '/problems': 'Every message was answered and delivered',
    '/knowledge': 'Add opening hours, prices, rules',
    '/set-up/mcp-servers': 'Add the address of one',
    '/set-up/tools': 'Add one for each thing that agents may look up',
    '/threads': 'Only you see your threads',
  }
  const page = await open('/', { key: keys.agency })
  await page.getByRole('status').getByText('Live').waitFor()
  for (const [path, text] of Object.entries(advice)) {
    await page.evaluate((to) => (location.hash = to), path)
    await page.locator('main').getByText(text).first().waitFor()
  }
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u13 the pages are used with the keyboard alone', async () => {
  const page = await open('/')
  await page.getByRole('status').getByText('Live').waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Skip to the content')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main')
  const places = { i: 'Inbox', a: 'Approvals', l: 'Layers', t: 'Threads', e: 'Agents', k: 'Knowledge', w: 'Workflows', r: 'Runtime', n: 'Notices', p: 'Problems', c: 'Credits', s: 'Set-up', h: 'Home' }
  for (const [key, name] of Object.entries(places)) {
    await page.keyboard.press('g')
    await page.keyboard.press(key)
    await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
  }
  // Everything that a mouse can press can be reached, and shows where the focus is.
  const hidden = await page.evaluate(() => [...document.querySelectorAll('main a, main button, main input, main select')].filter((one) => one.tabIndex < 0 && !one.disabled).length)
  assert.equal(hidden, 0)
  for (let step = 0; step < 25; step++) {
    await page.keyboard.press('Tab')
    const outline = await page.evaluate(() => (document.activeElement === document.body ? 'end' : getComputedStyle(document.activeElement).outlineStyle))
    if (outline === 'end') break
    assert.notEqual(outline, 'none', await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200)))
  }
  assert.deepEqual(page.problems, [])
  await page.context().close()
})
