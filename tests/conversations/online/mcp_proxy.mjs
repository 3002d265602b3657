// Passes requests on to a server with a key, because the conformance suite has none. Prints its
// address.

import { createServer, request } from 'node:http';

const { TARGET, KEY } = process.env;
const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${KEY}` };
    const options = { method: incoming.method, headers };
    const passed = request(new URL(incoming.url, TARGET), options, (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers);
        answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
});
proxy.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${proxy.address().port}`));
