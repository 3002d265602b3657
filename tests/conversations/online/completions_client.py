"""A conversation with an agent by the official client, until its budget is used up."""

import json
import os

import openai

client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"])
found = {"models": [model.id for model in client.models.list()]}

messages = [{"role": "user", "content": "what do you sell?"}]
text, usage, finish = "", None, None
stream = client.chat.completions.create(
    model="gia", messages=messages, stream=True, stream_options={"include_usage": True}
)
for chunk in stream:
    for choice in chunk.choices:
        text += choice.delta.content or ""
        finish = choice.finish_reason or finish
    usage = chunk.usage or usage
found |= {"text": text, "finish": finish, "tokens": usage.total_tokens}

messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "thanks"}]
answer = client.chat.completions.create(model="gia", messages=messages)
found |= {"second": answer.choices[0].message.content, "run": answer.id}

messages += [{"role": "user", "content": "spend all"}]
for name, streams in [("budget", False), ("streamed_budget", True)]:
    try:
        answer = client.chat.completions.create(model="gia", messages=messages, stream=streams)
        found[name] = [str(piece) for piece in answer] if streams else str(answer)
    except openai.APIError as error:
        found[name] = [type(error).__name__, error.type, error.code]

try:
    client.chat.completions.create(model="gpt-5", messages=messages)
except openai.NotFoundError as error:
    found["unknown"] = error.code
try:
    client.chat.completions.create(model="gia", messages=messages, n=2)
except openai.BadRequestError as error:
    found["refused"] = [error.code, error.param]
try:
    openai.OpenAI(base_url=os.environ["BASE_URL"], api_key="wrong").models.list()
except openai.AuthenticationError as error:
    found["key"] = error.code
print(json.dumps(found))
