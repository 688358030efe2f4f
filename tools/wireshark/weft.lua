-- SPDX-License-Identifier: BSD-3-Clause
-- The weft framing for Wireshark and tshark: RoCEv2 packets of the manufacturer's opcode group with
-- TVer 1, and HELLO and OPEN by which NICs agree on it. Names are those of docs/wire.md, where every
-- header is drawn. All other packets of UDP port 4791 go to Wireshark's own RoCE dissector.
--
--   tshark -X lua_script:weft.lua -r FILE
--   or into the folder of personal plugins: Help, About, Folders

local weft = Proto("weft", "weft framing of RoCEv2")
local hello = Proto("weft_hello", "HELLO and OPEN of weft")

local ROCE_PORT, HELLO_PORT = 4791, 61791
local GROUP, ACK, BOUNCE = 0xe0, 0xf1, 0xf9
local BTH_LEN, MAP_OFF, HEADER_ONLY_LEN, ICRC_LEN = 12, 15, 15, 4

-- What stands behind the optional parts, and whether payload follows it.
local OPCODES = {
	[0xe0] = { "SEND FIRST", { "sph" }, true },
	[0xe1] = { "SEND MIDDLE", { "sph" }, true },
	[0xe2] = { "SEND LAST", { "sph" }, true },
	[0xe3] = { "SEND LAST with immediate", { "sph", "imm" }, true },
	[0xe4] = { "SEND ONLY", { "sph" }, true },
	[0xe5] = { "SEND ONLY with immediate", { "sph", "imm" }, true },
	[0xe6] = { "WRITE FIRST", { "reth" }, true },
	[0xe7] = { "WRITE MIDDLE", { "reth" }, true },
	[0xe8] = { "WRITE LAST", { "reth" }, true },
	[0xe9] = { "WRITE LAST with immediate", { "reth", "ssn", "imm" }, true },
	[0xea] = { "WRITE ONLY", { "reth" }, true },
	[0xeb] = { "WRITE ONLY with immediate", { "reth", "ssn", "imm" }, true },
	[0xec] = { "READ REQUEST", { "reth", "order" }, false },
	[0xed] = { "READ RESPONSE FIRST", { "sph" }, true },
	[0xee] = { "READ RESPONSE MIDDLE", { "sph" }, true },
	[0xef] = { "READ RESPONSE LAST", { "sph" }, true },
	[0xf0] = { "READ RESPONSE ONLY", { "sph" }, true },
	[0xf2] = { "ATOMIC RESPONSE", { "request", "orig" }, false },
	[0xf3] = { "CMP_SWAP", { "atomic", "order" }, false },
	[0xf4] = { "FETCH_ADD", { "atomic", "order" }, false },
	[0xf5] = { "VOID", { "sph" }, false },
	[0xf6] = { "SEND LAST with invalidate", { "sph", "ieth" }, true },
	[0xf7] = { "SEND ONLY with invalidate", { "sph", "ieth" }, true },
	[ACK] = { "ACKNOWLEDGE", {}, false },
	[BOUNCE] = { "BOUNCE", {}, false },
}
local opcode_names = {}
for code, row in pairs(OPCODES) do
	opcode_names[code] = row[1]
end

local syndrome_names = {
	[0x40] = "ACK, counting", [0x60] = "NACK, gap", [0x61] = "fatal: invalid request",
	[0x62] = "fatal: access", [0x63] = "fatal: operational error", [0x65] = "NACK, resend",
	[0x66] = "NACK, restart",
}
for code = 0, 0x1f do
	syndrome_names[code] = "ACK"
end

-- Of INT: rate of the link in Gb/s, and the unit of bytes sent.
local RATES = {
	{ 1, 1 }, { 2.5, 2 }, { 5, 4 }, { 10, 8 }, { 25, 16 }, { 40, 32 }, { 50, 32 }, { 100, 64 },
	{ 200, 128 }, { 400, 256 }, { 800, 512 }, { 1600, 1024 },
}

local f = {
	opcode = ProtoField.uint8("weft.opcode", "Opcode", base.HEX, opcode_names),
	solicited = ProtoField.bool("weft.solicited", "Solicited", 8, nil, 0x80),
	pad = ProtoField.uint8("weft.pad", "Pad", base.DEC, nil, 0x30),
	tver = ProtoField.uint8("weft.tver", "TVer", base.DEC, nil, 0x0f),
	pkey = ProtoField.uint16("weft.pkey", "P_Key", base.HEX),
	qpn = ProtoField.uint24("weft.qpn", "Destination QPN", base.HEX),
	a = ProtoField.bool("weft.a", "A, acknowledge now", 8, nil, 0x80),
	retry = ProtoField.uint8("weft.retry", "Retry number", base.DEC, nil, 0x7f),
	psn = ProtoField.uint24("weft.psn", "PSN", base.DEC),
	cum = ProtoField.uint24("weft.cum", "cum, next PSN expected", base.DEC),
	msn = ProtoField.uint24("weft.msn", "MSN", base.DEC),
	emsn = ProtoField.uint24("weft.emsn", "eMSN, first message not done", base.DEC),
	slots = ProtoField.uint8("weft.map.n", "n, INT slots or hops", base.DEC, nil, 0xe0),
	map_p = ProtoField.bool("weft.map.p", "P, path header", 8, nil, 0x10),
	map_b = ProtoField.bool("weft.map.b", "B, SACK block", 8, nil, 0x10),
	map_t = ProtoField.bool("weft.map.t", "T, timestamp", 8, nil, 0x08),
	map_r = ProtoField.bool("weft.map.r", "R, sent before", 8, nil, 0x04),
	map_c = ProtoField.bool("weft.map.c", "C, CE came", 8, nil, 0x04),
	map_s = ProtoField.bool("weft.map.s", "S, synchronise", 8, nil, 0x02),
	map_n = ProtoField.bool("weft.map.rnr", "N, refusal", 8, nil, 0x02),
	map_x = ProtoField.bool("weft.map.x", "X, extension", 8, nil, 0x01),
	int_hops = ProtoField.uint8("weft.int.nhop", "Hops filled in", base.DEC, nil, 0xf0),
	int_tbo = ProtoField.bool("weft.int.tbo", "TBO", 8, nil, 0x08),
	int_ovf = ProtoField.bool("weft.int.ovf", "Overflow", 8, nil, 0x04),
	int_path = ProtoField.uint16("weft.int.path", "Path id", base.HEX),
	int_rate = ProtoField.string("weft.int.hop.rate", "Rate"),
	int_time = ProtoField.uint32("weft.int.hop.time", "Time, ns mod 2^24", base.DEC),
	int_bytes = ProtoField.uint32("weft.int.hop.bytes", "Bytes sent, mod 2^20 units", base.DEC),
	int_queue = ProtoField.uint32("weft.int.hop.queue", "Queue, bytes", base.DEC),
	path_k = ProtoField.uint16("weft.path.k", "K, lanes", base.DEC),
	path_o = ProtoField.uint16("weft.path.o", "O of the lane", base.DEC),
	path_fpsn = ProtoField.uint24("weft.path.fpsn", "FPSN", base.DEC),
	path_back = ProtoField.uint8("weft.path.back", "Back", base.DEC),
	ts = ProtoField.uint32("weft.ts", "Timestamp, ns", base.DEC),
	held = ProtoField.uint32("weft.held", "Held, ns", base.DEC),
	ext = ProtoField.bytes("weft.ext", "Extension"),
	sph_off = ProtoField.uint32("weft.sph.offset", "Offset, bytes", base.DEC),
	sph_len = ProtoField.uint32("weft.sph.length", "Message length, bytes", base.DEC),
	ssn = ProtoField.uint24("weft.ssn", "SSN", base.DEC),
	req_msn = ProtoField.uint24("weft.request", "MSN of the request", base.DEC),
	va = ProtoField.uint64("weft.reth.va", "Virtual address", base.HEX),
	rkey = ProtoField.uint32("weft.reth.rkey", "R_Key", base.HEX),
	dma_len = ProtoField.uint32("weft.reth.length", "DMA length, bytes", base.DEC),
	order_ssn = ProtoField.uint24("weft.order.ssn", "SSN used next", base.DEC),
	order_emsn = ProtoField.uint24("weft.order.emsn", "eMSN of the opposite stream", base.DEC),
	swap_add = ProtoField.uint64("weft.atomic.swap", "Swap or add", base.HEX),
	compare = ProtoField.uint64("weft.atomic.compare", "Compare", base.HEX),
	orig = ProtoField.uint64("weft.atomic.orig", "Original value", base.HEX),
	imm = ProtoField.uint32("weft.imm", "Immediate", base.HEX),
	inv = ProtoField.uint32("weft.ieth", "R_Key to invalidate", base.HEX),
	payload = ProtoField.bytes("weft.payload", "Payload"),
	payload_len = ProtoField.uint32("weft.payload.length", "Payload length, bytes", base.DEC),
	icrc = ProtoField.uint32("weft.icrc", "ICRC", base.HEX),
	syndrome = ProtoField.uint8("weft.syndrome", "Syndrome", base.HEX, syndrome_names),
	value = ProtoField.uint24("weft.value", "Value", base.DEC),
	n_ssn = ProtoField.uint24("weft.n.ssn", "First refused SSN", base.DEC),
	n_timer = ProtoField.uint8("weft.n.timer", "RNR timer", base.DEC),
	n_msn = ProtoField.uint24("weft.n.msn", "MSN of its refused instance", base.DEC),
	b_off = ProtoField.uint16("weft.b.offset", "Offset o", base.DEC),
	b_bits = ProtoField.uint64("weft.b.bits", "Bitmap", base.HEX),
	header_only = ProtoField.bool("weft.header_only", "Cut to its header"),
}
weft.fields = {}
for _, field in pairs(f) do
	table.insert(weft.fields, field)
end
local cut = ProtoExpert.new("weft.cut", "The packet ends inside a header", expert.group.MALFORMED, expert.severity.ERROR)
weft.experts = { cut }

-- A place in a packet from which headers are taken one by one; what is not there any more is nil. A
-- capture may have less of a packet than there was: that is no fault of the packet.
local function reader(tvb, tree, off, len)
	local r = { tvb = tvb, tree = tree, off = off, len = len }
	function r.take(n)
		if r.off + n > r.len then
			r.short = true
			r.off = r.len
			return nil
		end
		r.off = r.off + n
		return r.off <= tvb:len() and tvb(r.off - n, n) or nil
	end
	function r.add(n, ...)
		local range = r.take(n)
		for _, part in ipairs(range and { ... } or {}) do
			r.tree:add(part[1], range(part[2] or 0, part[3] or n))
		end
		return range
	end
	return r
end

local function take_hop(r)
	local range = r.take(8)
	if not range then
		return
	end
	local rate = RATES[range:bitfield(0, 4)]
	local unit = rate and rate[2] or 1
	local hop = r.tree:add(weft, range, "Hop")
	hop:add(f.int_rate, range(0, 1), rate and rate[1] .. " Gb/s" or "unknown")
	hop:add(f.int_time, range(0, 4), range:bitfield(4, 24))
	hop:add(f.int_bytes, range(3, 4), range:bitfield(28, 20) * unit)
	hop:add(f.int_queue, range(6, 2), range:bitfield(48, 16) * unit * 4)
end

local function take_int(r, slots)
	local outer = r.tree
	local head = r.take(4)
	if not head then
		return
	end
	r.tree = outer:add(weft, head, "INT")
	r.tree:add(f.int_hops, head(0, 1))
	r.tree:add(f.int_tbo, head(0, 1))
	r.tree:add(f.int_ovf, head(0, 1))
	r.tree:add(f.int_path, head(2, 2))
	for i = 1, slots do
		if i <= head:bitfield(0, 4) then
			take_hop(r)
		else
			r.take(8)
		end
	end
	r.tree = outer
end

local function take_ext(r)
	local words = r.off < math.min(r.len, r.tvb:len()) and r.tvb(r.off, 1):uint() or 1
	if words >= 1 and words <= 4 then
		r.add(4 * words, { f.ext })
	else
		r.short = true
	end
end

local function is_response(opcode)
	return opcode >= 0xed and opcode <= 0xf0
end

-- Headers of the operations.
local TAKE = {
	sph = function(r, opcode)
		r.add(12, { f.sph_off, 0, 4 }, { f.sph_len, 4, 4 },
			{ is_response(opcode) and f.req_msn or f.ssn, 8, 3 })
	end,
	reth = function(r)
		r.add(16, { f.va, 0, 8 }, { f.rkey, 8, 4 }, { f.dma_len, 12, 4 })
	end,
	atomic = function(r)
		r.add(28, { f.va, 0, 8 }, { f.rkey, 8, 4 }, { f.swap_add, 12, 8 }, { f.compare, 20, 8 })
	end,
	order = function(r)
		r.add(8, { f.order_ssn, 0, 3 }, { f.order_emsn, 4, 3 })
	end,
	ssn = function(r)
		r.add(4, { f.ssn, 0, 3 })
	end,
	request = function(r)
		r.add(4, { f.req_msn, 0, 3 })
	end,
	orig = function(r)
		r.add(8, { f.orig })
	end,
	imm = function(r)
		r.add(4, { f.imm })
	end,
	ieth = function(r)
		r.add(4, { f.inv })
	end,
}

local function dissect_stream(r, opcode, map, pad)
	local slots = map:bitfield(0, 3)
	for _, field in ipairs({ f.slots, f.map_p, f.map_t, f.map_r, f.map_s, f.map_x }) do
		r.tree:add(field, map)
	end
	if slots > 0 then
		take_int(r, slots)
	end
	if map:bitfield(3, 1) == 1 then
		r.add(8, { f.path_k, 0, 2 }, { f.path_o, 2, 2 }, { f.path_fpsn, 4, 3 }, { f.path_back, 7, 1 })
	end
	if map:bitfield(4, 1) == 1 then
		r.add(4, { f.ts })
	end
	if map:bitfield(7, 1) == 1 then
		take_ext(r)
	end
	for _, name in ipairs(OPCODES[opcode][2]) do
		TAKE[name](r, opcode)
	end
	local left = r.len - r.off - pad
	if left < 0 then
		r.short = true
	elseif OPCODES[opcode][3] and not r.short then
		r.tree:add(f.payload_len, left):set_generated()
		left = math.min(left, r.tvb:len() - r.off)
		if left > 0 then
			r.tree:add(f.payload, r.tvb(r.off, left))
		end
	end
end

local function dissect_ack(r, map)
	local slots = map:bitfield(0, 3)
	for _, field in ipairs({ f.slots, f.map_b, f.map_t, f.map_c, f.map_n, f.map_x }) do
		r.tree:add(field, map)
	end
	local head = r.add(4, { f.syndrome, 0, 1 }, { f.value, 1, 3 })
	if map:bitfield(6, 1) == 1 then
		r.add(8, { f.n_ssn, 0, 3 }, { f.n_timer, 3, 1 }, { f.n_msn, 4, 3 })
	end
	if map:bitfield(3, 1) == 1 then
		r.add(12, { f.b_off, 0, 2 }, { f.b_bits, 4, 8 })
	end
	if map:bitfield(4, 1) == 1 then
		r.add(8, { f.ts, 0, 4 }, { f.held, 4, 4 })
	end
	if map:bitfield(7, 1) == 1 then
		take_ext(r)
	end
	if slots > 0 then
		take_int(r, slots)
	end
	return head and syndrome_names[head(0, 1):uint()] or "?"
end

-- The first 15 bytes, which a trim leaves.
local function dissect_front(tvb, tree, opcode)
	local is_ack = opcode == ACK
	tree:add(f.opcode, tvb(0, 1))
	tree:add(f.solicited, tvb(1, 1))
	tree:add(f.pad, tvb(1, 1))
	tree:add(f.tver, tvb(1, 1))
	tree:add(f.pkey, tvb(2, 2))
	tree:add(f.qpn, tvb(5, 3))
	tree:add(f.a, tvb(8, 1))
	tree:add(f.retry, tvb(8, 1))
	tree:add(is_ack and f.cum or f.psn, tvb(9, 3))
	tree:add(is_ack and f.emsn or f.msn, tvb(BTH_LEN, 3))
end

local plain = DissectorTable.get("udp.port"):get_dissector(ROCE_PORT)

local function is_weft(tvb)
	return tvb:len() >= HEADER_ONLY_LEN and tvb(0, 1):uint() >= GROUP and tvb(1, 1):bitfield(4, 4) == 1
end

-- A dissector that runs into a packet's end would end this one too.
local function dissect_plain(tvb, pinfo, root)
	local is_whole, len = pcall(function()
		return plain and plain:call(tvb, pinfo, root) or 0
	end)
	if not is_whole then
		root:add(weft, tvb(), "RoCEv2"):add_proto_expert_info(cut)
	end
	return is_whole and len or tvb:len()
end

function weft.dissector(tvb, pinfo, root)
	if not is_weft(tvb) then
		return dissect_plain(tvb, pinfo, root)
	end
	local opcode = tvb(0, 1):uint()
	local name = opcode_names[opcode] or string.format("unknown opcode 0x%02x", opcode)
	local tree = root:add(weft, tvb(), "weft, " .. name)
	local psn, msn = tvb(9, 3):uint(), tvb(BTH_LEN, 3):uint()
	local len = tvb:reported_len() -- not of what was captured

	pinfo.cols.protocol = "weft"
	dissect_front(tvb, tree, opcode)
	if len == HEADER_ONLY_LEN then
		tree:add(f.header_only, true):set_generated()
		pinfo.cols.info = string.format("%s%s PSN=%u MSN=%u", opcode == BOUNCE and "" or "trimmed ", name, psn, msn)
		return
	end
	local r = reader(tvb, tree, MAP_OFF, len - ICRC_LEN)
	local map = r.take(1)
	if map and opcode == ACK then
		name = dissect_ack(r, map)
	elseif map and OPCODES[opcode] and opcode ~= BOUNCE then
		dissect_stream(r, opcode, map, tvb(1, 1):bitfield(2, 2))
	end
	pinfo.cols.info = string.format(opcode == ACK and "%s cum=%u eMSN=%u" or "%s PSN=%u MSN=%u", name,
		psn, msn)
	if r.short then
		tree:add_proto_expert_info(cut)
	elseif tvb:len() == len then
		tree:add_le(f.icrc, tvb(len - ICRC_LEN, ICRC_LEN))
	end
end

-- ---- HELLO and OPEN ----

local type_names = { "HELLO", "COOKIE", "WELCOME", "OPEN", "ANSWER", "STALE" }
local status_names = {
	[0] = "agreed", "not ready", "engines differ", "unfit", "committed to RoCEv2", "no memory",
}
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
	reason = ProtoField.uint8("weft_hello.reason", "Reason", base.DEC),
}
hello.fields = {}
for _, field in pairs(h) do
	table.insert(hello.fields, field)
end

-- Fields of a message or an entry: name, offset, length.
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

local function add_fields(tree, tvb, off, rows)
	for _, row in ipairs(rows) do
		if off + row[2] + row[3] <= tvb:len() then
			tree:add(h[row[1]], tvb(off + row[2], row[3]))
		end
	end
end

function hello.dissector(tvb, pinfo, root)
	if tvb:len() < 16 or tvb(0, 4):string() ~= "WEFT" then
		return 0
	end
	local kind = tvb(5, 1):uint()
	local name = type_names[kind] or "unknown type"
	local tree = root:add(hello, tvb(), "weft, " .. name)

	pinfo.cols.protocol = "weft"
	pinfo.cols.info = name
	tree:add(h.version, tvb(4, 1))
	tree:add(h.type, tvb(5, 1))
	tree:add(h.length, tvb(6, 2))
	tree:add(h.nonce, tvb(8, 8))
	add_fields(tree, tvb, 16, BODY[kind] or {})
	if kind == 4 or kind == 5 then
		for off = 32, tvb:len() - 48, 48 do
			add_fields(tree:add(hello, tvb(off, 48), "Entry"), tvb, off, ENTRY)
		end
	end
end

DissectorTable.get("udp.port"):add(ROCE_PORT, weft)
DissectorTable.get("udp.port"):add(HELLO_PORT, hello)
