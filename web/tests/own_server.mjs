// The dashboard on a server that this file starts and stops itself: with many conversations, and
// across a restart. OSTLER_PROGRAM and OSTLER_HOME name the program and the installation of a
// demo, OSTLER_SESSIONS says how many conversations there are; OSTLER_URL is where it listens.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { addSessions } from './sessions.mjs'
import { api, closeBrowser, open } from './browser.mjs'

const { OSTLER_PROGRAM, OSTLER_HOME, OSTLER_URL } = process.env
const sessions = Number(process.env.OSTLER_SESSIONS ?? 5_000)
let server = null

async function start() {
  const listen = OSTLER_URL.replace('http://', '')
  server = spawn(OSTLER_PROGRAM, ['serve', '--home', OSTLER_HOME, '--listen', listen], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(server.stdout, 'data')
}

async function stop() {
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
}

before(async () => {
  addSessions(join(OSTLER_HOME, 'ostler.db'), 'Vera', sessions)
  await start()
})
after(async () => {
  await closeBrowser()
  await stop()
})

test('u13 a list of many conversations has few rows on the page, and older ones come while it is scrolled', async (context) => {
  const begun = Date.now()
  const page = await open('/#/inbox')
  const list = page.getByRole('region', { name: 'Conversations' })
  await list.getByRole('link', { name: /Rosa/ }).waitFor()
  context.diagnostic(`the inbox with ${sessions} conversations: ${Date.now() - begun} ms`)
  await list.getByRole('button', { name: /^Open \d+\+?$/ }).waitFor()
  const box = list.locator('.box')
  const height = () => box.evaluate((one) => one.scrollHeight)
  let before = await height()
  for (let pages = 0; pages < 5; pages++) {
    await box.evaluate((one) => one.scrollTo(0, one.scrollHeight))
    await page.waitForFunction(([one, old]) => one.scrollHeight > old, [await box.elementHandle(), before])
    before = await height()
  }
  const rows = await list.getByRole('listitem').count()
  assert.ok(rows < 60, `${rows} rows are on the page`)
  assert.ok(before > 900 * 92, `${before} px: more than 900 conversations were read`)
  await list.getByRole('link', { name: /Customer/ }).last().click()
  await page.getByRole('log').getByText('I am customer').waitFor()
  await page.goto(page.url().replace(/#.*/, '#/'))
  await page.getByRole('link', { name: /open conversations/ }).getByText(/^[\d,]+\+$/).waitFor()
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u13 after a restart of the server the page is live again, and shows what happened meanwhile', async () => {
  const rosa = (await api('sessions?which=handed_off')).items.find((one) => one.name === 'Rosa').id
  const page = await open(`/#/inbox/${rosa}`)
  const state = page.getByRole('status').filter({ hasText: /Live|Connecting/ })
  await state.getByText('Live').waitFor()
  const reply = page.getByLabel('Reply to Rosa')
  await reply.fill('One moment please')
  await stop()
  await state.getByText('Connecting').waitFor()
  assert.equal(await reply.inputValue(), 'One moment please', 'what is being written stays')
  await start()
  await api(`sessions/${rosa}/notes`, { text: 'Written right after the restart.' })
  await state.getByText('Live').waitFor({ timeout: 30_000 })
  await page.getByRole('article', { name: 'Internal note' }).getByText('Written right after the restart.').waitFor({ timeout: 10_000 })
  await page.getByRole('button', { name: 'Take over and send' }).click()
  await page.getByRole('log').getByText('One moment please').waitFor()
  // Requests fail while the server is down, and nothing else does.
  const others = page.problems.filter((one) => !/net::ERR_|Failed to load resource/.test(one))
  assert.deepEqual(others, [])
  await page.context().close()
})
