// Pages in headless Chromium, logged in to a running demo.
import { chromium } from 'playwright-core'

const url = process.env.OSTLER_URL
const pageUrl = process.env.OSTLER_PAGE_URL ?? url
const [ada, ben, agency] = (process.env.OSTLER_KEYS ?? '').split(' ')
/** Of an owner and an operator of Bella Pizza, and of an owner of its agency. */
export const keys = { ada, ben, agency }

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
export const closeBrowser = () => browser.close()

/** Opens a page of the dashboard with an API key. Errors of the page fail the test. */
export async function open(path, { key = ada, width = 1280, height = 800, scheme = 'light' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' })
  const page = await context.newPage()
  page.problems = []
  page.on('pageerror', (error) => page.problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') page.problems.push(message.text())
  })
  if (key) await context.addInitScript((value) => sessionStorage.setItem('ostler.key', value), key)
  await page.goto(path.startsWith('/') ? `${pageUrl}${path}` : path)
  return page
}

/** Asks the API. */
export async function api(path, body, method = body ? 'POST' : 'GET', key = ada) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const init = body ? { method, headers, body: JSON.stringify(body) } : { headers }
  const response = await fetch(`${url}/v1/orgs/bella/${path}`, init)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.status === 204 ? null : response.json()
}

/** Hands a conversation back to its agent, with what was settled. */
export async function handBack(page, settled = '') {
  await page.getByRole('button', { name: 'Hand back to the agent' }).click()
  const dialog = page.getByRole('dialog')
  if (settled) await dialog.getByLabel('What was settled').fill(settled)
  await dialog.getByRole('button', { name: 'Hand back' }).click()
}
