import { readFileSync } from 'node:fs'
import { it } from 'vitest'
import { dialects } from './dialect.ts'
import { openGateway } from './target.ts'
it.each(['qwen-code','qwen-code-summary-dropped','claude-code','codex','opencode-anthropic'])('%s', async (name) => {
  const { format, requests } = JSON.parse(readFileSync(new URL('../../oriel/test/fixtures/clients/'+name+'.json', import.meta.url),'utf8'))
  let next=0
  const t = await openGateway({ binding:'none', isRefusing:false, answer: () => ({type:'raw',status:requests[next].reply.status, headers:{'content-type':'application/json'}, body: JSON.stringify(requests[next].reply.body)}) })
  for (const [i,r] of requests.entries()) { next=i
    const b={...r.body,stream:false}
    await (await fetch(t.url+(dialects as any)[format].path,{method:'POST',headers:{authorization:'Bearer k',...r.headers},body:JSON.stringify(b)})).text()
    const s=t.upstream.requests.at(-1)?.body as any
    const a=b.messages??b.input, c=s.messages??s.input
    const rest=(x:any)=>{const {messages,input,...y}=x;return JSON.stringify(y)}
    if(rest(b)!==rest(s)) console.log(name,i,'REST differs', Object.keys(s).filter(k=>JSON.stringify(s[k])!==JSON.stringify(b[k])))
    if (a.length!==c.length) console.log(name,i,'length',a.length,c.length)
    let d=0
    for(let k=0;k<Math.max(a.length,c.length)&&d<2;k++) if(JSON.stringify(a[k])!==JSON.stringify(c[k])) { d++; const A=JSON.stringify(a[k])??'',C=JSON.stringify(c[k])??'';let q=0;while(A[q]===C[q]&&q<A.length)q++;console.log(name,i,k,'at',q,'
 ASK ',A.slice(Math.max(0,q-60),q+300),'
 SENT',C.slice(Math.max(0,q-60),q+300)) }
    if (d) break
  }
  await t.close()
},30000)
