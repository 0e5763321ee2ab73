// A minimal Runtime API client. It requests an event, calls the handler and posts the response, all
// on one connection. AWS's client (aws-lambda-ric) does more at start, and needs a C++ compiler to
// install.
import { Agent, request } from "node:http";
import { handler, warmUp } from "./schedule_payment.js";

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function ask(method, path, body) {
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, agent, method, path: `/2018-06-01/runtime/invocation/${path}` }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

async function serve() {
  await warmUp();
  for (;;) {
    const { headers, body } = await ask("GET", "next");
    const id = headers["lambda-runtime-aws-request-id"];
    const answer = await handler(JSON.parse(body), { awsRequestId: id });
    await ask("POST", `${id}/response`, JSON.stringify(answer));
  }
}

serve();
