// What an operator does in the dashboard, in the demo: Rosa waits for a person, and a refund
// for an approval. The tests build on each other.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { api, closeBrowser, keys, open } from './browser.mjs'

after(closeBrowser)

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const session = (await api('sessions')).items.find((one) => one.name === 'Rosa').id

test('a wrong key is refused in words, and the right one opens the page', async () => {
  const page = await open('/', { key: null })
  await page.getByRole('button', { name: 'Use an API key' }).click()
  await page.getByLabel('API key').fill('osk_wrong')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByText('This key is not valid').waitFor()
  await page.getByLabel('API key').fill(keys.ada)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.context().close()
})

test('u01 u02 g38 home and inbox say who waits, and keys lead there', async () => {
  const page = await open('/')
  await page.getByRole('link', { name: /Rosa asked for a person/ }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('i')
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  await page.getByText(/waits \d+ (s|min)/).first().waitFor()
  await page.keyboard.press('n')
  await page.getByRole('log').getByText('I want a real person!').waitFor()
  assert.ok(page.url().endsWith(`#/inbox/${session}`), page.url())
  await page.keyboard.press('g')
  await page.keyboard.press('t')
  await page.getByRole('heading', { name: 'Threads', exact: true }).waitFor()
  const [escalated] = (await api('escalations')).items
  assert.equal(escalated.escalation.status, 'pending', '`g t` goes to the threads and takes nothing over')
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u05 d06 an approval shows exact arguments, and approving it makes the call', async () => {
  const page = await open('/#/approvals')
  const card = page.getByRole('article')
  await card.getByText(/Enzo asks, because/).waitFor()
  await card.getByText('10.00').waitFor()
  await card.getByText('cannot be undone', { exact: true }).waitFor()
  await card.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  const approvals = await api('approvals?which=pending')
  assert.equal(approvals.items.length, 0)
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u03 g40 one operator takes over, and the other sees it within a second', async () => {
  const [ada, ben] = [await open(`/#/inbox/${session}`), await open(`/#/inbox/${session}`, { key: keys.ben })]
  await ben.getByRole('status').getByText('Live').waitFor()
  await ben.getByRole('button', { name: 'Take over', exact: true }).waitFor()
  const reply = ada.getByLabel('Reply to Rosa')
  await reply.fill('Hello Rosa, this is Ada.')
  await ada.reload()
  assert.equal(await reply.inputValue(), 'Hello Rosa, this is Ada.', 'the draft survives a reload')
  await ada.getByRole('button', { name: 'Take over and send' }).click()
  await ben.getByText('ada has this conversation').waitFor({ timeout: 3_000 })
  await ben.getByRole('log').getByText('Hello Rosa, this is Ada.').waitFor({ timeout: 3_000 })
  assert.equal(await ben.getByLabel('Reply to Rosa').count(), 0)
  assert.equal(await reply.inputValue(), '')
  await ada.getByRole('button', { name: 'Hand back to the agent' }).click()
  await ben.getByRole('button', { name: 'Take over', exact: true }).waitFor({ timeout: 3_000 })
  assert.deepEqual([...ada.problems, ...ben.problems], [])
  await ada.context().close()
  await ben.context().close()
})

test('u04 the panel says what decided on each call, and what it cost', async () => {
  const page = await open(`/#/inbox/${session}`)
  await page.getByRole('button', { name: 'Why?' }).click()
  const panel = page.getByRole('complementary', { name: 'Why' })
  await panel.getByText('refund payment').first().waitFor()
  await panel.getByText('destructive, semi_autonomous').first().waitFor()
  await panel.getByText(/\d credits?/).first().waitFor()
  await page.context().close()
})

test('u13 pages have no serious accessibility findings, and fit a phone', async () => {
  for (const path of ['/#/', `/#/inbox/${session}`, '/#/approvals', '/#/layers', '/#/threads', '/#/knowledge', '/#/notices', '/#/problems', '/#/credits', '/#/agents', '/#/agents/enzo', '/#/agents/enzo/soul', '/#/agents/enzo/tools', '/#/set-up', '/#/set-up/settings', '/#/set-up/audit', '/#/workflows']) {
    for (const scheme of ['light', 'dark']) {
      const page = await open(path, { scheme })
      await page.getByRole('status').getByText('Live').waitFor()
      await page.evaluate(axe)
      const { violations } = await page.evaluate(() => globalThis.axe.run())
      const serious = violations.filter((one) => ['serious', 'critical'].includes(one.impact))
      const found = serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`)
      assert.deepEqual(found, [], `${path} ${scheme}`)
      await page.setViewportSize({ width: 390, height: 800 })
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(overflow <= 0, `${path} is ${overflow} px too wide`)
      await page.context().close()
    }
  }
})

test('u15 a thread streams an answer and survives a reload', async () => {
  const page = await open('/#/threads')
  await page.getByRole('button', { name: 'New thread' }).click()
  await page.getByLabel('Message', { exact: true }).fill('Hello from the dashboard')
  await page.keyboard.press('Enter')
  const log = page.getByRole('log')
  await log.getByText('welcome to Bella Pizza').waitFor({ timeout: 15_000 })
  await page.reload()
  await log.getByText('welcome to Bella Pizza').waitFor()
  assert.equal(await log.getByText('Hello from the dashboard').count(), 1)
  await page.getByLabel('Back to the list').click()
  await page.getByText('2 messages').first().waitFor()
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u12 s13 a person opens a one-time link, chooses a password, and logs in with it', async () => {
  const page = await open(`/v1/activate?code=${process.env.OSTLER_CODE}`, { key: null })
  await page.getByText('eva@example.com').waitFor()
  await page.getByLabel('Choose a password').fill('a long sentence of my own')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('E-mail').fill('eva@example.com')
  await page.getByLabel('Password').fill('wrong')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByRole('alert').getByText('not right').waitFor()
  await page.getByLabel('Password').fill('a long sentence of my own')
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.getByRole('status').getByText('Live').waitFor()
  await page.goto(page.url().replace(/#.*/, '#/approvals'))
  await page.getByRole('button', { name: 'used' }).click()
  await page.getByRole('article').first().waitFor()
  await page.context().close()
})
