/** The present time, for ages such as "waits for 5 min"; one timer for the whole page. */

class Now {
  ms = $state(Date.now())

  constructor() {
    setInterval(() => (this.ms = Date.now()), 5_000)
  }
}

export const now = new Now()
