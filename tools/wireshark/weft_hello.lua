-- SPDX-License-Identifier: BSD-3-Clause
-- HELLO and OPEN of weft for Wireshark and tshark: by these messages two NICs find out that both speak
-- the weft framing (weft.lua), and two QPs agree on how. Names are those of docs/wire.md.

local hello = Proto("weft_hello", "HELLO and OPEN of weft")

local HELLO_PORT, HEADER_LEN, ENTRIES_OFF, ENTRY_LEN = 61791, 16, 32, 48
local OPEN, ANSWER = 4, 5

local type_names = { "HELLO", "COOKIE", "WELCOME", "OPEN", "ANSWER", "STALE" }
local status_names = {
	[0] = "agreed", "not ready", "engines differ", "unfit", "committed to RoCEv2", "no memory",
}
local reason_names = { [0] = "none", "path MTU", "options or lanes", "link MTU" }
local mtu_names = { "256", "512", "1024", "2048", "4096" }

local h = {
	version = ProtoField.uint8("weft_hello.version", "Version", base.DEC),
	type = ProtoField.uint8("weft_hello.type", "Type", base.DEC, type_names),
	length = ProtoField.uint16("weft_hello.length", "Length, bytes", base.DEC),
	nonce = ProtoField.uint64("weft_hello.nonce", "Nonce", base.HEX),
	cookie = ProtoField.bytes("weft_hello.cookie", "Cookie"),
	boot = ProtoField.uint64("weft_hello.boot", "Boot id", base.HEX),
	token = ProtoField.uint64("weft_hello.token", "Token", base.HEX),
	engine = ProtoField.string("weft_hello.engine", "Reliability engine"),
	lowest = ProtoField.uint8("weft_hello.lowest", "Lowest version", base.DEC),
	slots = ProtoField.uint8("weft_hello.slots", "INT slots", base.DEC),
	lanes = ProtoField.uint8("weft_hello.lanes", "log2 of lanes", base.DEC),
	features = ProtoField.uint32("weft_hello.features", "Features", base.HEX),
	count = ProtoField.uint16("weft_hello.count", "Entries", base.DEC),
	own_qpn = ProtoField.uint24("weft_hello.own_qpn", "Own QPN", base.HEX),
	framing = ProtoField.uint8("weft_hello.framing", "Framing", base.DEC),
	peer_qpn = ProtoField.uint24("weft_hello.peer_qpn", "Peer's QPN", base.HEX),
	mtu = ProtoField.uint8("weft_hello.mtu", "Path MTU", base.DEC, mtu_names),
	rq_psn = ProtoField.uint24("weft_hello.rq_psn", "First PSN expected", base.DEC),
	sq_psn = ProtoField.uint24("weft_hello.sq_psn", "Own first PSN", base.DEC),
	window = ProtoField.uint32("weft_hello.window", "Packets taken beyond cum", base.DEC),
	msgs = ProtoField.uint16("weft_hello.msgs", "Messages", base.DEC),
	options = ProtoField.uint16("weft_hello.options", "Options of own data", base.HEX),
	every = ProtoField.uint8("weft_hello.ack_every", "Acknowledge each packets", base.DEC),
	delay = ProtoField.uint8("weft_hello.ack_delay", "At most so many us late", base.DEC),
	rd = ProtoField.uint8("weft_hello.max_rd_atomic", "max_rd_atomic", base.DEC),
	dest_rd = ProtoField.uint8("weft_hello.max_dest_rd_atomic", "max_dest_rd_atomic", base.DEC),
	status = ProtoField.uint8("weft_hello.status", "Status", base.DEC, status_names),
	reason = ProtoField.uint8("weft_hello.reason", "Reason", base.DEC, reason_names),
}
-- Bits of features and of options, from bit 0 on.
local FEATURES = { "int", "ts", "ce_echo", "sack", "trim" }
local OPTIONS = { "path", "ts", "ecn", "ce_echo", "sack", "sq_psn" }
local feature, option = {}, {}
for i, name in ipairs(FEATURES) do
	feature[i] = ProtoField.bool("weft_hello.features." .. name, name, 32, nil, 2 ^ (i - 1))
end
for i, name in ipairs(OPTIONS) do
	option[i] = ProtoField.bool("weft_hello.options." .. name, name, 16, nil, 2 ^ (i - 1))
end
local BITS = { features = feature, options = option }

hello.fields = {}
for _, group in ipairs({ h, feature, option }) do
	for _, field in pairs(group) do
		table.insert(hello.fields, field)
	end
end
local cut = ProtoExpert.new("weft_hello.cut", "The message is shorter or longer than its type and length say",
	expert.group.MALFORMED, expert.severity.ERROR)
hello.experts = { cut }

-- Fields of a message or an entry: name, offset, length.
local HEADER = { { "version", 4, 1 }, { "type", 5, 1 }, { "length", 6, 2 }, { "nonce", 8, 8 } }
local WHO = {
	{ "cookie", 0, 16 }, { "boot", 16, 8 }, { "token", 24, 8 }, { "engine", 32, 16 },
	{ "lowest", 48, 1 }, { "slots", 49, 1 }, { "lanes", 50, 1 }, { "features", 52, 4 },
}
local ENTRY = {
	{ "own_qpn", 0, 3 }, { "framing", 3, 1 }, { "peer_qpn", 4, 3 }, { "mtu", 7, 1 },
	{ "rq_psn", 8, 3 }, { "slots", 11, 1 }, { "sq_psn", 12, 3 }, { "lanes", 15, 1 },
	{ "engine", 16, 16 }, { "window", 32, 4 }, { "msgs", 36, 2 }, { "options", 38, 2 },
	{ "every", 40, 1 }, { "delay", 41, 1 }, { "rd", 42, 1 }, { "dest_rd", 43, 1 },
	{ "status", 44, 1 }, { "reason", 45, 1 },
}
local BODY = {
	WHO, { { "cookie", 0, 16 } }, WHO, { { "token", 0, 8 }, { "count", 8, 2 } },
	{ { "token", 0, 8 }, { "count", 8, 2 } }, {},
}
local LENGTHS = { 80, 32, 80, nil, nil, 16 }

-- What of these fields was captured.
local function add_fields(tree, tvb, off, rows)
	for _, row in ipairs(rows) do
		local name, at, len = row[1], off + row[2], row[3]
		if at + len <= tvb:len() then
			local item = tree:add(h[name], tvb(at, len))
			for _, bit in ipairs(BITS[name] or {}) do
				item:add(bit, tvb(at, len))
			end
		end
	end
end

-- Bytes that a message of this type has; nil if nobody knows.
local function length_of(tvb, kind)
	if kind == OPEN or kind == ANSWER then
		return tvb:len() >= 26 and ENTRIES_OFF + ENTRY_LEN * tvb(24, 2):uint() or nil
	end
	return LENGTHS[kind]
end

function hello.dissector(tvb, pinfo, root)
	if tvb:len() < HEADER_LEN or tvb(0, 4):string() ~= "WEFT" then
		return 0
	end
	local kind, is_first_version = tvb(5, 1):uint(), tvb(4, 1):uint() == 1
	local name = type_names[kind] or "unknown type"
	local tree = root:add(hello, tvb(), "weft, " .. name)
	local len, want = tvb:reported_len(), length_of(tvb, kind)

	pinfo.cols.protocol = "weft"
	pinfo.cols.info = name
	add_fields(tree, tvb, 0, HEADER)
	add_fields(tree, tvb, HEADER_LEN, BODY[kind] or {})
	if kind == OPEN or kind == ANSWER then
		for off = ENTRIES_OFF, tvb:len() - ENTRY_LEN, ENTRY_LEN do
			add_fields(tree:add(hello, tvb(off, ENTRY_LEN), "Entry"), tvb, off, ENTRY)
		end
	end
	-- A later version may have more.
	if tvb(6, 2):uint() ~= len or (is_first_version and want and want ~= len) then
		tree:add_proto_expert_info(cut)
	end
end

DissectorTable.get("udp.port"):add(HELLO_PORT, hello)
