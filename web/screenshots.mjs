// Takes a picture of each page in light and in dark: node screenshots.mjs FOLDER, against the demo
// at OSTLER_URL with the keys of tests/browser.mjs. scripts/dashboard-screenshots starts all that.
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { api, closeBrowser, keys, open } from './tests/browser.mjs'

const folder = process.argv[2] ?? 'screenshots'
const MAX_SUM = 3_500_000

const rosa = (await api('sessions')).items.find((one) => one.name === 'Rosa').id
const [run] = (await api(`sessions/${rosa}`)).runs
const definition = {
  name: 'tables',
  agent: 'enzo',
  step: [
    { id: 'size', ask: 'How large a table?', options: ['small', 'large'] },
    { id: 'count', after: ['size'], ask: 'How many of them?' },
    { id: 'check', after: ['size'], ask: 'Is the terrace open?' },
  ],
}
const { id: workflow } = await api('workflows', { definition, input: {} })
while ((await api(`workflows/${workflow}`)).workflow.status !== 'waiting') await new Promise((resolve) => setTimeout(resolve, 100))
await api(`workflows/${workflow}/answers`, { type: 'text', task: 'size', text: 'large' })
await api('knowledge', { title: 'Opening hours', body: 'Monday to Sunday, from noon to 11 pm.', tags: ['hours'] })
await api('queue-agents', { name: 'desk', agent_type: 'human', capabilities: ['decide'] })
await api('queue-agents', { name: 'echo-1', agent_type: 'echo' })
await api('queue-teams', { name: 'review', members: ['desk', 'echo-1'] })
await api('delegations', { by: 'echo-1', to: 'desk', description: 'May we ship the new menu?' })
const { id: thread } = await api('threads', {})
await api(`threads/${thread}/messages`, { text: 'Please plan the summer menu' })
await new Promise((resolve) => setTimeout(resolve, 2_000))

const press = (...names) => async (page) => {
  for (const name of names) await page.keyboard.press(name)
}
const click = (name) => (page) => page.getByRole('button', { name }).first().click()

/** Name, address, what is done before the picture, and whose key is used. */
const shots = [
  ['home', '/'],
  ['inbox', `/inbox/${rosa}`],
  ['why', `/inbox/${rosa}`, press('w')],
  ['approvals', '/approvals', press('j')],
  ['layers', '/layers', click('Organizations'), keys.agency],
  ['threads', `/threads/${thread}`],
  ['agents', '/agents'],
  ['agent', '/agents/enzo'],
  ['plan', '/agents/enzo', async (page) => {
    await page.getByLabel('Autonomy').selectOption('supervised')
    await page.getByRole('button', { name: 'Save …' }).click()
    await page.getByRole('heading', { name: 'What follows' }).waitFor()
  }],
  ['soul', '/agents/enzo/soul'],
  ['tools', '/agents/gia/tools'],
  ['try', '/agents/gia/try', async (page) => {
    await page.getByLabel('Test message').fill('Are you open on Monday?')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'why' }).waitFor()
  }],
  ['run', `/runs/${run.id}`],
  ['knowledge', '/knowledge'],
  ['workflow', `/workflows/${workflow}`],
  ['runtime', '/runtime'],
  ['work-lists', '/runtime/work'],
  ['notices', '/notices'],
  ['problems', '/problems'],
  ['credits', '/credits'],
  ['set-up', '/set-up'],
  ['channels', '/set-up/channels', click('Address and test')],
  ['phone', `/inbox/${rosa}`, null, keys.ada, 390],
]

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const [name, path, prepare, key = keys.ada, width = 1000] of shots) {
  const page = await open(`/#${path}`, { key, width, height: width < 500 ? 760 : 560 })
  await page.getByRole('status', { includeHidden: true }).getByText('Live').waitFor({ state: 'attached' })
  await prepare?.(page)
  await page.waitForTimeout(500)
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) })
  }
  await page.context().close()
}
await closeBrowser()
const sum = readdirSync(folder).reduce((bytes, file) => bytes + statSync(join(folder, file)).size, 0)
console.log(`${readdirSync(folder).length} pictures, ${sum.toLocaleString('en')} bytes`)
if (sum > MAX_SUM) throw new Error(`the pictures are larger than ${MAX_SUM} bytes together`)
