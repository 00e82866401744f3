"""dnspython's client of DNS over HTTPS, by HTTP/3 of aioquic: `doh3_client.py FOLDER ADDRESS PORT`. FOLDER has both; it says in JSON what it got."""

import json
import sys


def main():
    folder, address, port = sys.argv[1:]
    sys.path.insert(0, folder)
    from dns import message, query, rcode

    def ask(name, kind="A", post=True, path="/dns-query"):
        question = message.make_query(name, kind, use_edns=0)
        where = {"port": int(port), "path": path, "post": post, "verify": False, "timeout": 10}
        return query.https(question, address, http_version=query.HTTPVersion.HTTP_3, **where)

    responses = [ask(f"host{number}.test", post=number % 2 == 0) for number in range(10)]
    long = ask("long.test", "TXT")
    codes = {}
    for response in [*responses, long, ask("x.invalid")]:
        code = rcode.to_text(response.rcode())
        codes[code] = codes.get(code, 0) + 1
    try:
        ask("a.test", path="/other")
        other = 200
    except ValueError as error:
        other = 404 if "404" in str(error) else str(error)
    print(json.dumps({"codes": codes, "records": sum(len(one) for one in long.answer), "other": other}))


if __name__ == "__main__":
    main()
