// The runtime page of an organization whose messages are on RabbitMQ: the agent `broken` of
// another process fails at every message, and has failed at one.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { closeBrowser, open } from './browser.mjs'

after(closeBrowser)

test('u09 queues have their depths, and a dead letter says why and is put back', async () => {
  const page = await open('/#/runtime/queues')
  const row = page.getByRole('row', { name: /agent\.broken/ })
  await row.getByText('served').waitFor({ timeout: 15_000 })
  assert.equal(await row.getByRole('cell').nth(1).innerText(), '1', 'the agent of the other process listens')
  await page.getByRole('button', { name: /^Dead letters 1/ }).click()
  const letter = page.getByRole('article').filter({ hasText: 'This is for nobody' })
  await letter.getByText('this is not for me').waitFor()
  await letter.getByRole('button', { name: 'Put it back' }).click()
  await page.getByText('Back in the queue.').waitFor()
  // It fails again, and is a dead letter again.
  await letter.getByText('this is not for me').waitFor({ timeout: 15_000 })
  assert.deepEqual(page.problems, [])
  await page.context().close()
})
