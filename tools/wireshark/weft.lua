-- SPDX-License-Identifier: BSD-3-Clause
-- The weft framing for Wireshark and tshark: RoCEv2 packets of the manufacturer's opcode group with
-- TVer 1. Names are those of docs/wire.md, where every header is drawn. All other packets of UDP port
-- 4791 go to Wireshark's own RoCE dissector. HELLO and OPEN: weft_hello.lua.
--
--   tshark -X lua_script:weft.lua -X lua_script:weft_hello.lua -r FILE
--   or both into the folder of personal plugins: Help, About, Folders

local weft = Proto("weft", "weft framing of RoCEv2")

local ROCE_PORT = 4791
local GROUP, ACK, BOUNCE = 0xe0, 0xf1, 0xf9
local TVER, TAG_HEADER_ONLY = 1, 3
local HEADER_ONLY_LEN, ICRC_LEN = 15, 4

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
	[0xed] = { "READ RESPONSE FIRST", { "response" }, true },
	[0xee] = { "READ RESPONSE MIDDLE", { "response" }, true },
	[0xef] = { "READ RESPONSE LAST", { "response" }, true },
	[0xf0] = { "READ RESPONSE ONLY", { "response" }, true },
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

local tag_names = { [0] = "other", "acknowledgement", "may be trimmed", "header-only" }

-- Of INT: rate of the link in Gb/s, and the unit of bytes sent.
local RATES = {
	{ 1, 1 }, { 2.5, 2 }, { 5, 4 }, { 10, 8 }, { 25, 16 }, { 40, 32 }, { 50, 32 }, { 100, 64 },
	{ 200, 128 }, { 400, 256 }, { 800, 512 }, { 1600, 1024 },
}

local f = {
	opcode = ProtoField.uint8("weft.opcode", "Opcode", base.HEX, opcode_names),
	solicited = ProtoField.bool("weft.solicited", "Solicited", 8, nil, 0x80),
	migreq = ProtoField.bool("weft.migreq", "M, MigReq", 8, nil, 0x40),
	pad = ProtoField.uint8("weft.pad", "Pad", base.DEC, nil, 0x30),
	tver = ProtoField.uint8("weft.tver", "TVer", base.DEC, nil, 0x0f),
	pkey = ProtoField.uint16("weft.pkey", "P_Key", base.HEX),
	fecn = ProtoField.bool("weft.fecn", "F, FECN", 8, nil, 0x80),
	becn = ProtoField.bool("weft.becn", "B, BECN", 8, nil, 0x40),
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
	int_rate = ProtoField.double("weft.int.hop.rate", "Rate, Gb/s"),
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
	tag = ProtoField.uint8("weft.tag", "Tag of the type of service", base.DEC, tag_names),
	header_only = ProtoField.bool("weft.header_only", "Cut to its header"),
}
weft.fields = {}
for _, field in pairs(f) do
	table.insert(weft.fields, field)
end
local function malformed(name, text)
	return ProtoExpert.new(name, text, expert.group.MALFORMED, expert.severity.ERROR)
end
local cut = malformed("weft.cut", "The packet ends inside a header")
local behind = malformed("weft.behind", "There are bytes behind the last header, and this opcode has no payload")
local unknown = malformed("weft.unknown", "No such opcode in the weft framing, or a bounce that is not cut")
local lies = malformed("weft.int.lies", "More hops than slots: receivers take the area as absent")
local no_rate = malformed("weft.int.hop.unknown", "No such rate code: receivers use no hop of the area")
weft.experts = { cut, behind, unknown, lies, no_rate }

-- The innermost type of service that this packet was sent with.
local tos_fields = { Field.new("ip.dsfield"), Field.new("ipv6.tclass") }

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
	local hop = r.tree:add(weft, range, "Hop")
	hop:add(f.int_time, range(0, 4), range:bitfield(4, 24))
	if not rate then
		hop:add_proto_expert_info(no_rate)
		return
	end
	hop:add(f.int_rate, range(0, 1), rate[1])
	hop:add(f.int_bytes, range(3, 3), range:bitfield(28, 20) * rate[2])
	hop:add(f.int_queue, range(6, 2), range:bitfield(48, 16) * rate[2] * 4)
end

local function take_int(r, slots)
	local outer = r.tree
	local head = r.take(4)
	if not head then
		r.take(8 * slots)
		return
	end
	r.tree = outer:add(weft, head, "INT")
	r.tree:add(f.int_hops, head(0, 1))
	r.tree:add(f.int_tbo, head(0, 1))
	r.tree:add(f.int_ovf, head(0, 1))
	r.tree:add(f.int_path, head(2, 2))
	local hops = head:bitfield(0, 4)
	if hops > slots then
		r.tree:add_proto_expert_info(lies)
		hops = 0
	end
	for _ = 1, hops do
		take_hop(r)
	end
	r.take(8 * (slots - hops))
	r.tree = outer
end

local function take_ext(r)
	if r.off < r.len and r.off >= r.tvb:len() then
		r.is_lost = true -- where the next header begins
		return
	end
	local words = r.off < r.len and r.tvb(r.off, 1):uint() or 0
	if words < 1 or words > 4 then
		r.short = true
	else
		r.add(4 * words, { f.ext })
	end
end

-- Headers of the operations: bytes, then fields with offset and length.
local HEADERS = {
	sph = { 12, { f.sph_off, 0, 4 }, { f.sph_len, 4, 4 }, { f.ssn, 8, 3 } },
	response = { 12, { f.sph_off, 0, 4 }, { f.sph_len, 4, 4 }, { f.req_msn, 8, 3 } },
	reth = { 16, { f.va, 0, 8 }, { f.rkey, 8, 4 }, { f.dma_len, 12, 4 } },
	atomic = { 28, { f.va, 0, 8 }, { f.rkey, 8, 4 }, { f.swap_add, 12, 8 }, { f.compare, 20, 8 } },
	order = { 8, { f.order_ssn, 0, 3 }, { f.order_emsn, 4, 3 } },
	ssn = { 4, { f.ssn, 0, 3 } },
	request = { 4, { f.req_msn, 0, 3 } },
	orig = { 8, { f.orig } },
	imm = { 4, { f.imm } },
	ieth = { 4, { f.inv } },
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
		r.add(table.unpack(HEADERS[name]))
	end
	local left = r.len - r.off - pad
	if r.is_lost then
		return
	elseif left < 0 then
		r.short = true
	elseif not r.short and OPCODES[opcode][3] then
		r.off = r.len
		r.tree:add(f.payload_len, left):set_generated()
		local start = r.len - pad - left
		left = math.min(left, r.tvb:len() - start)
		if left > 0 then
			r.tree:add(f.payload, r.tvb(start, left))
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

-- The first 15 bytes, which a trim leaves; returns PSN and MSN, or "?".
local function dissect_front(r, opcode)
	local is_ack = opcode == ACK
	r.add(1, { f.opcode })
	r.add(1, { f.solicited }, { f.migreq }, { f.pad }, { f.tver })
	r.add(2, { f.pkey })
	r.add(1, { f.fecn }, { f.becn })
	r.add(3, { f.qpn })
	r.add(1, { f.a }, { f.retry })
	local psn = r.add(3, { is_ack and f.cum or f.psn })
	local msn = r.add(3, { is_ack and f.emsn or f.msn })
	return psn and psn:uint() or "?", msn and msn:uint() or "?"
end

local function tag_of_packet()
	local found = nil
	for _, field in ipairs(tos_fields) do
		local all = { field() }
		local last = all[#all]
		if last and (not found or last.offset > found.offset) then
			found = last
		end
	end
	return found and math.floor(found.value / 4) % 4
end

local plain = DissectorTable.get("udp.port"):get_dissector(ROCE_PORT)

local function is_weft(tvb)
	return tvb:len() >= 2 and tvb(0, 1):uint() >= GROUP and tvb(1, 1):bitfield(4, 4) == TVER
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

-- What is behind byte 14 of a packet that is not header-only; returns its name.
local function dissect_rest(r, opcode, name)
	r.len = r.len - ICRC_LEN
	if not OPCODES[opcode] or opcode == BOUNCE then
		r.tree:add_proto_expert_info(unknown)
		return name
	end
	local map = r.take(1)
	if map and opcode == ACK then
		name = dissect_ack(r, map)
	elseif map then
		dissect_stream(r, opcode, map, r.tvb(1, 1):bitfield(2, 2))
	end
	if r.short then
		r.tree:add_proto_expert_info(cut)
	elseif map and r.off < r.len and not r.is_lost then
		r.tree:add_proto_expert_info(behind)
	end
	return name
end

function weft.dissector(tvb, pinfo, root)
	if not is_weft(tvb) then
		return dissect_plain(tvb, pinfo, root)
	end
	local opcode, tag = tvb(0, 1):uint(), tag_of_packet()
	local name = opcode_names[opcode] or string.format("unknown opcode 0x%02x", opcode)
	local tree = root:add(weft, tvb(), "weft, " .. name)
	local len = tvb:reported_len() -- not of what was captured
	local r = reader(tvb, tree, 0, len)

	pinfo.cols.protocol = "weft"
	local psn, msn = dissect_front(r, opcode)
	if tag then
		tree:add(f.tag, tag):set_generated()
	end
	if len == HEADER_ONLY_LEN and tag == TAG_HEADER_ONLY and opcode ~= ACK then
		tree:add(f.header_only, true):set_generated()
		name = (opcode == BOUNCE and "" or "trimmed ") .. name
	else
		name = dissect_rest(r, opcode, name)
		if not r.short and tvb:len() == len then
			tree:add_le(f.icrc, tvb(len - ICRC_LEN, ICRC_LEN))
		end
	end
	pinfo.cols.info = string.format(opcode == ACK and "%s cum=%s eMSN=%s" or "%s PSN=%s MSN=%s", name, psn,
		msn)
end

DissectorTable.get("udp.port"):add(ROCE_PORT, weft)
