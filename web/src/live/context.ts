import { getContext, setContext } from 'svelte'
import type { Live } from './live.svelte.ts'

const KEY = Symbol('live')

export const setLive = (live: Live) => setContext(KEY, live)
export const useLive = () => getContext<Live>(KEY)
