// Runs the simulation's WebAssembly module, apart from the page: one request at a time, text in, text out.
// Requests are {id, profile}; replies {id, reply}, or {failed} if there is no module or it broke.

let calls;

async function load() {
  const answer = await fetch("playground.wasm");
  if (!answer.ok) throw new Error("this site was built without the simulation's module; 'make docs' says what it needs");
  const { instance } = await WebAssembly.instantiate(await answer.arrayBuffer());
  instance.exports.main(0, 0);
  return instance.exports;
}

// What the last call left.
function text() {
  return new TextDecoder().decode(new Uint8Array(calls.memory.buffer, calls.eagre_text(), calls.eagre_length()));
}

function call(request) {
  const bytes = new TextEncoder().encode(request);
  const place = calls.eagre_request(bytes.length);
  new Uint8Array(calls.memory.buffer, place, bytes.length).set(bytes);
  calls.eagre_call();
  return text();
}

const ready = load().then(exports => { calls = exports; });

onmessage = async ({ data }) => {
  try {
    await ready;
  } catch (error) {
    postMessage({ id: data.id, failed: error.message });
    return;
  }
  try {
    postMessage({ id: data.id, reply: JSON.parse(call(JSON.stringify({ profile: data.profile }))) });
  } catch (error) {
    postMessage({ id: data.id, failed: `the simulation failed: ${text() || error.message}` });
  }
};
