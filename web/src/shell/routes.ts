/** The pages and their addresses; each is loaded when it is first shown. */

import type { Component } from 'svelte'
import { wrap } from 'svelte-spa-router/wrap'
import Inbox from '../inbox/Inbox.svelte'
import NotFound from './NotFound.svelte'

type Load = () => Promise<{ default: Component }>

const page = (load: Load) => wrap({ asyncComponent: load as never })

export const routes = {
  '/': page(() => import('../home/Home.svelte')),
  '/inbox/:session?': Inbox,
  '/approvals': page(() => import('../approvals/Approvals.svelte')),
  '/layers/:tab?': page(() => import('../layers/Layers.svelte') as never),
  '/threads/:thread?': page(() => import('../threads/Threads.svelte') as never),
  '/knowledge': page(() => import('../knowledge/Knowledge.svelte')),
  '/agents/:agent?/:tab?': page(() => import('../agents/Agents.svelte') as never),
  '/runs/:run': page(() => import('../runs/Run.svelte') as never),
  '/set-up/:tab?': page(() => import('../set_up/SetUp.svelte') as never),
  '/workflows/:workflow?': page(() => import('../workflows/Workflows.svelte') as never),
  '/runtime/:tab?': page(() => import('../runtime/Runtime.svelte') as never),
  '/welcome': page(() => import('../welcome/Welcome.svelte')),
  '/notices': page(() => import('../notices/Notices.svelte')),
  '/problems': page(() => import('../problems/Problems.svelte')),
  '/credits': page(() => import('../credits/Credits.svelte')),
  '*': NotFound,
}

export interface Place {
  path: string
  name: string
  /** Pressed after `g`. */
  key: string
  /** The route without which there is no such page. */
  route?: string
}

export const places: Place[] = [
  { path: '/', name: 'Home', key: 'h' },
  { path: '/inbox', name: 'Inbox', key: 'i' },
  { path: '/approvals', name: 'Approvals', key: 'a' },
  { path: '/layers', name: 'Layers', key: 'l' },
  { path: '/threads', name: 'Threads', key: 't' },
  { path: '/agents', name: 'Agents', key: 'e' },
  { path: '/knowledge', name: 'Knowledge', key: 'k' },
  { path: '/workflows', name: 'Workflows', key: 'w' },
  { path: '/runtime', name: 'Runtime', key: 'r', route: '/v1/orgs/{org}/bus' },
  { path: '/notices', name: 'Notices', key: 'n' },
  { path: '/problems', name: 'Problems', key: 'p' },
  { path: '/credits', name: 'Credits', key: 'c' },
  { path: '/set-up', name: 'Set-up', key: 's' },
]
