// A visitor of the web chat and an operator of the dashboard, each in a browser.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { api, closeBrowser, handBack, open } from './browser.mjs'

after(closeBrowser)

const { binding } = (await api('sessions')).items.find((one) => one.channel === 'webchat')

test('u14 g43 a visitor is answered by the agent, then by a person, and back', async () => {
  const visitor = await open(`/chat/${binding}`, { key: null })
  assert.equal(await visitor.getByText('data-binding').count(), 0, 'nothing internal is on the page')
  const log = visitor.getByRole('log')
  const write = async (text) => {
    await visitor.getByRole('textbox').fill(text)
    await visitor.keyboard.press('Enter')
    await log.getByText(text).last().waitFor({ timeout: 500 })
  }
  await write('Are you open on Monday?')
  await log.locator('.message.agent:not(.draft)').filter({ hasText: 'Gia' }).waitFor({ timeout: 15_000 })
  assert.equal(await log.getByText('Are you open on Monday?').count(), 1)
  assert.equal(await log.locator('.sending').count(), 0)
  assert.match(await log.locator('time').first().innerText(), /\d/)

  const session = (await api('sessions')).items.find((one) => one.messages > 0 && !one.name).id
  const ada = await open(`/#/inbox/${session}`)
  await ada.getByRole('button', { name: 'Take over', exact: true }).click()
  await ada.getByText('You', { exact: true }).first().waitFor()
  await write('And on Tuesday?')
  const transcript = ada.getByRole('log')
  await transcript.getByText('And on Tuesday?').waitFor({ timeout: 5_000 })
  await ada.getByRole('textbox', { name: /Reply/ }).fill('On Tuesday too.')
  await ada.keyboard.press('Control+Enter')
  await log.getByText('On Tuesday too.').waitFor({ timeout: 10_000 })
  const answers = await log.locator('.message.agent').count()
  assert.equal(answers, 1, 'the agent is silent while a person answers')
  await handBack(ada)
  await write('Are you open on Monday?')
  await log.locator('.message.agent').nth(1).waitFor({ timeout: 15_000 })
  assert.deepEqual([...visitor.problems, ...ada.problems], [])
})
