-- Numbers of protocols, under the names that scripts use.
require "utils"

local eth = {
    TYPE_IP = 0x0800, TYPE_ARP = 0x0806, TYPE_8021Q = 0x8100, TYPE_IP6 = 0x86dd, TYPE_LACP = 0x8809, TYPE_PTP = 0x88f7,
    BROADCAST = "ff:ff:ff:ff:ff:ff", NULL = "00:00:00:00:00:00",
}

return {
    eth = eth, ethernet = eth,
    ip4 = {
        PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17, PROTO_GRE = 47, PROTO_ESP = 50, PROTO_AH = 51, PROTO_SCTP = 132,
        NULL = "0.0.0.0",
    },
    ip6 = {PROTO_TCP = 6, PROTO_UDP = 17, PROTO_GRE = 47, PROTO_ESP = 50, PROTO_AH = 51, PROTO_ICMP = 58},
    udp = {
        PORT_DNS = 53, PORT_PTP_EVENTS = 319, PORT_PTP_GENERAL_MESSAGES = 320, PORT_IPFIX = 4739, PORT_VXLAN = 4789,
        PORT_SFLOW = 6343,
    },
    tcp = {},
    icmp = {
        ECHO_REPLY = {type = 0, code = 0}, DST_UNR_PORT_UNR = {type = 3, code = 3}, ECHO_REQUEST = {type = 8, code = 0},
        TIME_EXCEEDED_TTL_EXPIRED = {type = 11, code = 0},
    },
    ptp = {TYPE_SYNC = 0, TYPE_DELAY_REQ = 1, TYPE_FOLLOW_UP = 8, TYPE_DELAY_RESP = 9},
    vxlan = {},
}
