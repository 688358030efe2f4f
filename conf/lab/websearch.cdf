# SPDX-License-Identifier: BSD-3-Clause
# Sizes of flows of a web search cluster; mean 1.71 MB.
# bytes  percent of flows that are not larger
#
# Source: WebSearch_distribution.txt of alibaba-edu's HPCC simulator, after M. Alizadeh et al.,
# "Data Center TCP (DCTCP)", SIGCOMM 2010.
0         0
10000     15
20000     20
30000     30
50000     40
80000     53
200000    60
1000000   70
2000000   80
5000000   90
10000000  97
30000000  100
