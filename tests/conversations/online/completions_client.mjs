// A conversation with an agent by the official client, until its budget is used up.

import OpenAI from 'openai';

const options = { baseURL: process.env.BASE_URL, apiKey: process.env.KEY };
const client = new OpenAI(options);
const completions = client.chat.completions;
const found = { models: (await client.models.list()).data.map((model) => model.id) };

const messages = [{ role: 'user', content: 'what do you sell?' }];
const stream = await completions.create({
    model: 'gia', messages, stream: true, stream_options: { include_usage: true },
});
found.text = '';
for await (const chunk of stream) {
    for (const choice of chunk.choices) {
        found.text += choice.delta.content ?? '';
        found.finish = choice.finish_reason ?? found.finish;
    }
    found.tokens = chunk.usage?.total_tokens;
}

messages.push({ role: 'assistant', content: found.text }, { role: 'user', content: 'thanks' });
const answer = await completions.create({ model: 'gia', messages });
found.second = answer.choices[0].message.content;
found.run = answer.id;

messages.push({ role: 'user', content: 'spend all' });
for (const [name, stream] of [['budget', false], ['streamed_budget', true]]) {
    try {
        const answer = await completions.create({ model: 'gia', messages, stream });
        found[name] = [];
        if (stream) for await (const piece of answer) found[name].push(piece);
    } catch (error) {
        found[name] = [error.constructor.name, error.type, error.code];
    }
}

const refusal = async (request, more = {}) => {
    try {
        await new OpenAI({ ...options, ...more }).chat.completions.create(request);
    } catch (error) {
        return error;
    }
};
found.unknown = (await refusal({ model: 'gpt-5', messages })).code;
const refused = await refusal({ model: 'gia', messages, n: 2 });
found.refused = [refused.code, refused.param];
found.key = (await refusal({ model: 'gia', messages }, { apiKey: 'wrong' })).code;
console.log(JSON.stringify(found));
