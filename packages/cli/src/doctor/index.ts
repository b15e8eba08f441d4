// What `oriel doctor` needs, loaded when it runs.

export { doctor } from './command.ts'
export { readDoctorSettings } from './settings.ts'
