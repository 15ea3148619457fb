"""A small table, and what the program says of it or another."""

from cli_helpers import printed

TABLE = ('region,year,price,qty,"how, many"\n'
         'north,2020,0.1,3,a\n'
         'south,2021,0.2,4,"b, c"\n'
         '# comment\n'
         'north,2020,0.2,5,d\n'
         ',2019,7,6,e\n')


def lines_of(*arguments, data=TABLE):
    return [line.split("\t") for line in printed(*arguments, data=data).splitlines()]
