// Pages in headless Chromium, logged in to a running demo.
import { chromium } from 'playwright-core'

const url = process.env.OSTLER_URL
const [ada, ben] = (process.env.OSTLER_KEYS ?? '').split(' ')
export const keys = { ada, ben }

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
  await page.goto(`${url}${path}`)
  return page
}

/** Asks the API. */
export async function api(path, body, method = body ? 'POST' : 'GET') {
  const headers = { authorization: `Bearer ${ada}`, 'content-type': 'application/json' }
  const init = body ? { method, headers, body: JSON.stringify(body) } : { headers }
  const response = await fetch(`${url}/v1/orgs/bella/${path}`, init)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}
