// Uses GraphiQL as a person would, in a browser that can reach no other host; prints what was seen.
import { chromium } from 'playwright-core'

const [address, executablePath, example, prefix, picture] = process.argv.slice(2)

const browser = await chromium.launch({
  executablePath,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  ],
})
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
const complaints = []
page.on('pageerror', (error) => complaints.push(error.message))
page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
const hosts = new Set()
page.on('request', (request) => request.url().startsWith('http') && hosts.add(new URL(request.url()).host))

await page.goto(address)
const tabs = page.getByRole('tab')
await tabs.filter({ hasText: example }).click()
await page.locator('.graphiql-query-editor .view-lines').getByText(new RegExp(`query\\s+${example}`)).first().waitFor()
const answered = page.waitForResponse((response) => response.request().postData()?.includes(`query ${example}`) ?? false)
await page.getByRole('button', { name: /execute/i }).click()
const answer = await (await answered).json()
const shown = page.locator('.graphiql-response .view-lines')
await shown.getByText(/"(data|errors)"/).first().waitFor()
const shownText = (await shown.innerText()).replaceAll('\u00a0', ' ')

await page.locator('.graphiql-add-tab, button[aria-label="New tab"]').first().click()
const editor = page.locator('.graphiql-query-editor .monaco-editor').first()
await editor.click()
await page.keyboard.press('ControlOrMeta+A')
await page.keyboard.type(`{ ${prefix}`)
const suggestion = page.locator('.suggest-widget.visible .monaco-list-row.focused').first()
await suggestion.waitFor()
const suggested = await suggestion.getAttribute('aria-label')
if (picture) await page.screenshot({ path: picture })
await page.keyboard.press('Tab')
// What is suggested is written a moment after the key.
await editor.locator('.view-lines').getByText(suggested.split(',')[0]).first().waitFor()
const completed = (await editor.locator('.view-lines').innerText()).replaceAll('\u00a0', ' ')

console.log(
  JSON.stringify({
    tabs: await tabs.allInnerTexts(),
    answer,
    shown: shownText,
    suggested,
    completed,
    complaints,
    hosts: [...hosts],
  }),
)
await browser.close()
