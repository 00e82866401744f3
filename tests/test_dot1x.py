"""Port-based access control (IEEE 802.1X): a supplicant behind a port, in a namespace, logs in to an authenticator through the test port."""

import re
import shlex

import pytest
from lab import call, need, stream, wait_until

USERS = """
"alice" MD5 "secret"
"bob" PEAP
"bob" MSCHAPV2 "secret" [2]
"""
METHODS = {
    "md5": 'eap=MD5 identity="alice" password="{0}"',
    "peap": 'eap=PEAP identity="bob" password="{0}" phase2="auth=MSCHAPV2" ca_cert="{1}"',
}
# Of EAP methods (IANA).
NUMBERS = {"md5": 4, "peap": 25}


class Authenticator:
    """hostapd on a wire: with its own EAP server, and a network behind it."""

    def __init__(self, lab):
        need("hostapd", "hostapd_cli", "wpa_supplicant", "wpa_cli", "openssl")
        self.tester, self.ns, self.folder = lab.netns("tester"), lab.netns("switch", forwarding=True), lab.folder()
        lab.veth(self.tester, "veth0", self.ns, "d0")
        self.ns.ip("address", "add", "10.0.0.1/24", "dev", "d0")
        key, self.certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subject = ["-subj", "/CN=switch.example.com", "-days", "2", "-nodes"]
        call("openssl", "req", "-x509", "-newkey", "rsa:2048", *subject, "-keyout", key, "-out", self.certificate)
        (self.folder / "users").write_text(USERS)
        config = {
            "interface": "d0", "driver": "wired", "logger_stdout": -1, "ctrl_interface": self.folder / "control", "ieee8021x": 1,
            "eapol_version": 2, "use_pae_group_addr": 1, "eap_server": 1, "eap_user_file": self.folder / "users",
            "ca_cert": self.certificate, "server_cert": self.certificate, "private_key": key,
        }  # fmt: skip
        (self.folder / "hostapd.conf").write_text("".join(f"{name}={value}\n" for name, value in config.items()))
        log = (self.folder / "log").open("w")
        lab.start("hostapd", self.folder / "hostapd.conf", ns=self.ns, stdout=log, stderr=log)
        wait_until(lambda: (self.folder / "control" / "d0").exists(), "hostapd")

    def stations(self):
        """What hostapd says of those that have spoken to it."""
        return self.ns.run("hostapd_cli", "-p", self.folder / "control", "-i", "d0", "all_sta")

    def said(self):
        return (self.folder / "log").read_text()

    def profile(self, lab, method, password="secret", timeout="30s", **load):
        """A run whose traffic waits until the supplicant has been let in."""
        folder = lab.folder()
        config = folder / "supplicant.conf"
        network = METHODS[method].format(password, self.certificate).replace(" ", "\n  ")
        config.write_text(f"ctrl_interface={folder}\nap_scan=0\nnetwork={{\n  key_mgmt=IEEE8021X\n  {network}\n  eapol_flags=0\n}}\n")
        status = f"wpa_cli -p {shlex.quote(str(folder))} -i west status"
        supplicant = {
            "name": "supplicant", "port": "west", "folder": str(folder), "timeout": timeout,
            "command": ["wpa_supplicant", "-D", "wired", "-i", "west", "-c", str(config)],
            "ready": f"{status}; {status} | grep -q 'suppPortStatus=Authorized'",
        }  # fmt: skip
        ports = {"west": {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1", "punt": {"match": "eapol"}}}
        noise = stream("noise", "west", None, rate="5kpps", measure=False)
        del noise["to"]
        noise["packet"] = [{"ipv4": {"dst": "10.0.0.1"}}, {"udp": {"dst": 9}}]
        return lab.profile(ports, [noise], protocols=[supplicant], load={"duration": "2s", "drain": "100ms", **load})


@pytest.mark.parametrize("method", METHODS)
def test_a_supplicant_logs_in_and_traffic_follows(lab, method):
    switch = Authenticator(lab)
    before = switch.ns.counters("d0")["rx"]
    done = lab.eagre("run", switch.profile(lab, method), "--json", "-", ns=switch.tester)
    result = done.result()
    said = switch.said()
    mac = switch.tester.mac("veth0")
    assert re.search(f"CTRL-EVENT-EAP-SUCCESS2? {mac}", said) and f"vendor=0 method={NUMBERS[method]}" in said, said
    stations = switch.stations()
    assert stations.startswith(mac) and "[AUTHORIZED]" in stations, stations
    port = result["ports"]["west"]
    assert port["rx_punt_dropped"] == port["tx_punt_dropped"] == 0, port
    assert switch.ns.counters("d0")["rx"] - before >= result["streams"]["noise"]["tx"] > 1_000


def test_a_wrong_password_ends_the_run_with_what_the_supplicant_says(lab):
    switch = Authenticator(lab)
    profile = switch.profile(lab, "md5", password="wrong", timeout="6s")
    refused = lab.eagre("run", profile, ns=switch.tester)
    refused.refused(3, "protocols.supplicant: it was not ready within 6 s", "suppPortStatus=Unauthorized")
    assert "CTRL-EVENT-EAP-FAILURE" in switch.said(), switch.said()
