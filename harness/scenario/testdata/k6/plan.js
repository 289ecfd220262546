import queue from 'k6/x/prony';
