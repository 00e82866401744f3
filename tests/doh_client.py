"""dnspython's client of DNS over HTTPS, by httpx: `doh_client.py FOLDER ADDRESS PORT VERSION`. FOLDER has both; it says in JSON what it got."""

import json
import sys

QUERIES = 100


def main():
    folder, address, port, version = sys.argv[1:]
    sys.path.insert(0, folder)
    import httpx
    from dns import message, query, rcode

    codes, addresses, lengths, fresh, versions = {}, set(), [], set(), set()
    base = f"https://{address}:{port}"

    def note(response):
        versions.add(response.http_version)
        if response.status_code == 200:
            fresh.add(response.headers.get("cache-control"))

    transport = httpx.HTTPTransport(http1=True, http2=version == "2", verify=False)
    with httpx.Client(transport=transport, event_hooks={"response": [note]}, timeout=10) as session:
        asked = [(f"host{number}.test", "A") for number in range(QUERIES)]
        asked += [("x.invalid", "A"), ("long.test", "TXT"), ("a.test", "AAAA")]
        for number, (name, kind) in enumerate(asked):
            question = message.make_query(name, kind, use_edns=0, pad=128 if number % 2 else 0)
            response = query.https(question, f"{base}/dns-query", session=session, post=number % 3 != 0, verify=False)
            code = rcode.to_text(response.rcode())
            codes[code] = codes.get(code, 0) + 1
            addresses.update(item.to_text() for one in response.answer for item in one if one.rdtype == 1)
            lengths.append(len(response.to_wire()))
        plain = {"content-type": "application/dns-message"}
        whole = message.make_query("a.test", "A").to_wire()
        statuses = {
            "path": session.post(f"{base}/other", content=whole, headers=plain).status_code,
            "method": session.put(f"{base}/dns-query", content=whole, headers=plain).status_code,
            "type": session.post(f"{base}/dns-query", content=whole, headers={"content-type": "text/plain"}).status_code,
            "long": session.post(f"{base}/dns-query", content=bytes(70_000), headers=plain).status_code,
            "none": session.get(f"{base}/dns-query").status_code,
            "padded": session.get(f"{base}/dns-query?dns=AAE=").status_code,
            "response": session.post(f"{base}/dns-query", content=b"\0\0\x80" + bytes(30), headers=plain).status_code,
            "short": session.post(f"{base}/dns-query", content=b"\0\0", headers=plain).status_code,
        }
    heard = {
        "codes": codes,
        "addresses": sorted(addresses),
        "lengths": sorted(lengths)[-1],
        "fresh": sorted(map(str, fresh)),
        "versions": sorted(versions),
        "statuses": statuses,
    }
    print(json.dumps(heard))


if __name__ == "__main__":
    main()
