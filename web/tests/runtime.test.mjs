// Agents on queues, in the demo: a person on a queue answers what an agent asks.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { api, closeBrowser, open } from './browser.mjs'

after(closeBrowser)

test('u09 the runtime page shows agents, teams and work lists, and a person answers', async () => {
  await api('queue-agents', { name: 'desk', agent_type: 'human', capabilities: ['decide'] })
  await api('queue-agents', { name: 'echo-1', agent_type: 'echo' })
  await api('queue-teams', { name: 'review', members: ['desk', 'echo-1'] })
  await api('delegations', { by: 'echo-1', to: 'desk', description: 'May we ship the new menu?' })
  const page = await open('/')
  await page.getByRole('link', { name: 'Runtime' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.getByRole('heading', { name: 'Runtime', level: 1 }).waitFor()
  const desk = page.getByRole('article').filter({ has: page.getByRole('heading', { name: 'desk' }) })
  await desk.getByText('Can: decide').waitFor()
  await page.getByText('healthy').waitFor()
  await page.getByRole('button', { name: 'Teams' }).click()
  await page.getByText('desk leads; members: desk, echo-1.').waitFor()
  await page.getByRole('button', { name: 'Queues' }).click()
  await page.getByText('The bus is within the server').waitFor()
  await page.getByRole('button', { name: /^Dead letters/ }).click()
  await page.getByText('Messages that no agent could handle appear here').waitFor()
  await page.getByRole('button', { name: /^Plans/ }).click()
  await page.getByText('Agents that need approval').waitFor()
  await page.getByRole('button', { name: /^Work lists/ }).click()
  const work = page.getByRole('article').filter({ hasText: 'May we ship the new menu?' })
  await work.getByText('for desk, from echo-1').waitFor()
  await work.getByRole('button', { name: 'Answer …' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Answer', { exact: true }).fill('Yes, ship it.')
  await dialog.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('No work for people').waitFor()
  assert.deepEqual(page.problems, [])
  await page.context().close()
})
