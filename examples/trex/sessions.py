# A stateful profile of TRex (ASTF): clients ask for a page, and half as many sessions are queries over UDP.
# eagre trex convert examples/trex/sessions.py -t size=2000
import argparse

from trex.astf.api import *

REQUEST = b"GET / HTTP/1.1\r\nHost: 48.0.0.1\r\n\r\n"


class Sessions:
    def get_profile(self, tunables, **kwargs):
        parser = argparse.ArgumentParser()
        parser.add_argument("--size", type=int, default=1000, help="bytes of a response's body")
        size = parser.parse_args(tunables).size
        addresses = ASTFIPGen(
            dist_client=ASTFIPGenDist(ip_range=["16.0.0.1", "16.0.0.200"], distribution="seq"),
            dist_server=ASTFIPGenDist(ip_range=["48.0.0.1", "48.0.0.9"], distribution="seq"),
        )
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n"

        client, server = ASTFProgram(), ASTFProgram()
        client.set_var("pages", 3)
        client.set_label("page:")
        client.send(REQUEST)
        client.recv(len(head) + size)
        client.delay(1000)
        client.jmp_nz("pages", "page:")
        server.set_var("pages", 3)
        server.set_label("page:")
        server.recv(len(REQUEST))
        server.send(head, size=len(head) + size, fill="*")
        server.jmp_nz("pages", "page:")
        pages = ASTFTemplate(
            client_template=ASTFTCPClientTemplate(program=client, ip_gen=addresses, cps=100),
            server_template=ASTFTCPServerTemplate(program=server),
            tg_name="pages",
        )

        client, server = ASTFProgram(stream=False), ASTFProgram(stream=False)
        client.send_msg("who is there?")
        client.recv_msg(2)
        server.recv_msg(1)
        server.send_msg("somebody")
        server.send_msg("nobody else")
        queries = ASTFTemplate(
            client_template=ASTFTCPClientTemplate(program=client, ip_gen=addresses, cps=50, port=5353, limit=40),
            server_template=ASTFTCPServerTemplate(program=server, assoc=ASTFAssociationRule(port=5353)),
        )
        settings = ASTFGlobalInfo()
        settings.tcp.mss = 1200
        return ASTFProfile(default_ip_gen=addresses, default_c_glob_info=settings, templates=[pages, queries])


def register():
    return Sessions()
