// A workflow on its page, in the demo.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { api, closeBrowser, open } from './browser.mjs'

after(closeBrowser)

const definition = {
  name: 'tables',
  agent: 'enzo',
  step: [
    { id: 'size', ask: 'How large a table?', options: ['small', 'large'] },
    { id: 'count', after: ['size'], ask: 'How many of them?' },
    { id: 'check', after: ['size'], ask: 'Is the terrace open?' },
  ],
}

test('u10 a workflow shows its graph, is answered and skipped, and ends', async () => {
  await api('workflows', { definition, input: {} })
  const page = await open('/#/workflows')
  await page.getByRole('link', { name: 'Waits: size' }).click()
  await page.getByRole('heading', { name: 'Workflow tables' }).waitFor()
  await page.getByRole('img', { name: 'The steps of the workflow' }).waitFor()
  await page.getByRole('button', { name: 'large' }).click()
  const count = page.getByRole('article').filter({ has: page.getByRole('heading', { name: 'count' }) })
  await count.getByRole('button', { name: 'Answer …' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your answer').fill('Three')
  await dialog.getByRole('button', { name: 'Answer' }).click()
  await count.getByText('Three').waitFor()
  const check = page.getByRole('article').filter({ has: page.getByRole('heading', { name: 'check' }) })
  await check.getByRole('button', { name: 'Skip' }).click()
  await page.getByText('done · 3 of 3 steps').waitFor()
  const timeline = page.getByRole('region', { name: 'Timeline' })
  for (const moment of ['ada started it', 'ada answered count: Three', 'count: done', 'ada skipped check', /It ended after \d+ s: done/]) {
    await timeline.getByText(moment).waitFor()
  }
  assert.deepEqual(page.problems, [])
  await page.context().close()
})

test('u10 a workflow is cancelled', async () => {
  const { id } = await api('workflows', { definition, input: {} })
  const page = await open(`/#/workflows/${id}`)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText(/^cancelled · \d of 3 steps/).waitFor()
  assert.deepEqual(page.problems, [])
  await page.context().close()
})
