// The inbox and the home page in the demo, before anybody has done something: what a list says
// of each conversation, an agency's clients, and what happened in a conversation.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { api, closeBrowser, keys, open } from './browser.mjs'

after(closeBrowser)

const rosa = (await api('sessions')).items.find((one) => one.name === 'Rosa')

test('u01 home says whether all is well, who waits how long, what was spent against the allowance, and what runs next', async () => {
  const { id } = await api('workflows', {
    definition: { name: 'later', agent: 'enzo', step: [{ id: 'size', ask: 'How large a table?', timeout_secs: 7200 }] },
    input: {},
  })
  const page = await open('/')
  await page.getByRole('status', { name: 'Health' }).getByText('Healthy').waitFor()
  await page.getByRole('link', { name: /credits spent today the allowance of a day is 5 · \d+ credits left/ }).waitFor()
  await page.getByRole('region', { name: 'Who waits' }).getByRole('link', { name: /Rosa asked for a person \d+ (s|min|h)/ }).waitFor()
  await page.getByRole('region', { name: 'What failed' }).getByText('Nothing').waitFor()
  const next = page.getByRole('region', { name: 'What runs next' })
  await next.getByRole('link', { name: /Workflow later stops waiting for size in 1 h/ }).waitFor()
  await next.getByText('Approval of refund payment').waitFor()
  assert.deepEqual(page.problems, [])
  await api(`workflows/${id}/cancel`, {})
  await page.context().close()
})

test('u02 each conversation shows its last message and who wrote it', async () => {
  const page = await open('/#/inbox')
  const list = page.getByRole('region', { name: 'Conversations' })
  const row = list.getByRole('link', { name: /Rosa/ })
  await row.getByText("Let me connect you with my team. They'll be right with you.").waitFor()
  await list.getByRole('link', { name: /Vera/ }).getByText(/^Gia: I have an answer for you/).waitFor()
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u02 an agency sees who waits at its clients, and a link leads into the client', async () => {
  const page = await open('/#/inbox', { key: keys.agency })
  await page.getByRole('button', { name: 'Clients' }).click()
  const row = page.getByRole('link', { name: /Rosa Bella Pizza/ })
  await row.getByText(/waits \d+/).waitFor()
  await row.click()
  await page.getByRole('log').getByText('I want a real person!').waitFor()
  assert.ok(page.url().endsWith(`#/inbox/${rosa.id}`), page.url())
  assert.equal(await page.getByLabel('Organization').locator('option:checked').innerText(), 'Bella Pizza')
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u03 handoffs and escalations stand in the transcript', async () => {
  const page = await open(`/#/inbox/${rosa.id}`)
  const log = page.getByRole('log')
  await log.getByText('Gia handed over to Enzo: a charge that is not right').waitFor()
  await log.getByText('A person is needed: asked for a person').waitFor()
  assert.deepEqual(page.problems, [])
  await page.context().close()
})
