import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Notice } from '../api/types.ts'
import { noticeTarget, noticeText, noticeTitle } from './words.ts'

const notice = (kind: string, data = {}): Notice => ({ id: 'n', kind, subject: '', data, message: 'a customer needs a person', created_at: 0, read_at: null })

test('a notice says what happened and leads to where it can be mended', () => {
  assert.equal(noticeTitle(notice('escalation')), 'A customer asks for a person')
  assert.equal(noticeTitle(notice('a_new_kind')), 'A new kind')
  assert.equal(noticeTarget(notice('escalation', { session: 'ses_1' })), '#/inbox/ses_1')
  assert.equal(noticeTarget(notice('dead_letter', { session: 'ses_1' })), '#/problems')
  assert.equal(noticeTarget(notice('low_credits')), '#/credits')
  assert.equal(noticeTarget(notice('issue_raised')), '#/layers/issues')
  assert.equal(noticeTarget(notice('soul_proposal')), '#/layers/souls')
  assert.equal(noticeText(notice('escalation')), 'A customer needs a person')
  assert.equal(noticeText({ ...notice('session_assigned'), message: 'a conversation was assigned to you: Rosa' }), 'Rosa')
})
