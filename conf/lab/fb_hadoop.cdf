# SPDX-License-Identifier: BSD-3-Clause
# Sizes of flows of a Hadoop cluster; mean 120 KB, 60 percent of them are of 1,000 bytes or less.
# bytes  percent of flows that are not larger
#
# Source: FbHdp_distribution.txt of alibaba-edu's HPCC simulator, after A. Roy et al., "Inside the
# Social Network's (Datacenter) Network", SIGCOMM 2015.
0         0
100       1
200       2
300       5
350       15
400       20
500       30
600       40
700       50
1000      60
2000      67
7000      70
30000     72
50000     82
80000     87
120000    90
300000    95
1000000   97.5
2000000   99
10000000  100
