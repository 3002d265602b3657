// The first administrator of a new installation, whose one-time link `ostler init` prints.
// OSTLER_PROGRAM is the program; OSTLER_HOME is a folder that this file fills; OSTLER_URL is where
// the server listens.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { closeBrowser, open } from './browser.mjs'

const { OSTLER_PROGRAM, OSTLER_HOME, OSTLER_URL } = process.env
let server = null
let code = ''

before(async () => {
  const init = ['init', '--home', OSTLER_HOME, '--email', 'ada@example.org', '--name', 'Ada', '--json']
  code = /activate\?code=([^"]+)/.exec(execFileSync(OSTLER_PROGRAM, init, { encoding: 'utf8' }))[1]
  const listen = OSTLER_URL.replace('http://', '')
  server = spawn(OSTLER_PROGRAM, ['serve', '--home', OSTLER_HOME, '--listen', listen], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(server.stdout, 'data')
})
after(async () => {
  await closeBrowser()
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
})

test('u12 the first administrator opens the one-time link, and sets up a first organization', async () => {
  const page = await open(`/#/activate/${code}`, { key: null })
  await page.getByText('ada@example.org').waitFor()
  await page.getByLabel('Choose a password').fill('a long sentence of my own')
  await page.getByRole('button', { name: 'Set the password' }).click()
  await page.getByRole('heading', { name: 'Welcome to Ostler' }).waitFor()
  await page.getByText('No model can be used yet.').or(page.getByText('can be used')).first().waitFor()
  await createOrg(page)
  await page.goto(page.url().replace(/#.*/, `#/activate/${code}`))
  await page.reload()
  await page.getByRole('alert').waitFor()
  await page.context().close()
})

async function createOrg(page) {
  await page.getByLabel('Name of the business').fill('Bella Pizza')
  await page.getByText('bella-pizza').waitFor()
  await page.getByLabel('Name of the agent').fill('Gia')
  await page.getByRole('button', { name: 'Create it' }).click()
  await page.getByRole('heading', { name: 'Set-up' }).waitFor()
  await page.getByRole('button', { name: 'Address and test' }).click()
  await page.getByText(/<script src=".*widget\.js" data-binding="bnd_/).waitFor()
  assert.equal(await page.getByLabel('Organization').locator('option:checked').innerText(), 'Bella Pizza')
}
