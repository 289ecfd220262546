import queue from 'k6/x/prony';

export default function () {}
